// What the planner knows of caches: two abstract stores. cache/ implements them over SQLite layers;
// nothing here or above knows about files. Neither ever throws: a store that cannot answer has a miss.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/plan.hpp>

#include "device/device.hpp"

namespace vostok::plan {

/// The device a tuning row belongs to.
struct DeviceKey {
  std::string uuid = {};
  std::string name = {};
  std::string architecture = {};
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::string driver = {};

  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};

/// Sizes and structure, stored exact; buckets are for look-up only.
struct Features {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t nonzeros = 0;
  std::int64_t longest_row = 0;
  double row_variation = 0;
  std::string index = "i32";

  friend bool operator==(const Features&, const Features&) = default;
};

/// A problem as the caches see it. `exact` is the canonical text of every problem field that is in the key
/// ("operation=spmm element=f32 ..."); `policy` is "warm" or "cold".
struct ProblemKey {
  std::string operation = {};
  std::string exact = {};
  Features features = {};
  std::string policy = "warm";
  /// For look-ups, never stored: `exact` without what is fused to the product (a bias, an activation); choices tuned
  /// for that serve too. Empty if nothing is fused.
  std::string plain = {};
};

/// One measured or rejected candidate. `code_digest` is the digest of its machine code ("" where never compiled).
struct TrialRecord {
  std::string family = {};
  FieldMap config = {};
  std::string code_digest = {};
  bool is_default = false;
  std::string status = {};  ///< as tune::Result has it: "measured", "screened", "compile_failed", "wrong", "faulted",
                            ///< "hung", "banned", "untested"
  std::string reason = {};  ///< why not "measured"; of that status `not_verified`, or nothing
  std::optional<double> median_us = {};
  std::optional<double> spread_us = {};
  int rounds = 0;
  int registers = 0;
  std::int64_t spill_bytes = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t measured_at = 0;  ///< Unix seconds
};

/// The reason of a trial that was measured where everything may run (FirstRun::this_process), but not verified.
inline constexpr const char* not_verified = "not verified";

/// Whether a trial bans its code. "faulted" does not if the reason, as older versions wrote it, is a signal by which
/// others had ended the worker: that says nothing about the code.
bool is_failure(std::string_view status, std::string_view reason);

/// Whether a trial shows that its code was verified and is right.
inline bool is_pass(std::string_view status, std::string_view reason) { return status == "measured" && reason.empty(); }

/// What is stored about machine code, for all problems and devices. One failure outweighs all passes.
struct CodeStanding {
  bool passed = false;       ///< measured, and verified
  std::string failure = {};  ///< the status of a trial that failed; empty: none did
  std::string reason = {};   ///< of that trial
};

/// A stored choice.
struct WinnerRecord {
  std::string family = {};
  FieldMap config = {};
  std::string code_digest = {};
  double median_us = 0;
  std::optional<double> default_median_us = {};
  int rounds = 0;
  Effort effort = Effort::full;
  std::string library_version = {};
};

/// A winner of one problem that is not used because of a known fault.
struct MaskedWinner {
  WinnerRecord winner = {};
  bool own = false;     ///< of the user's own cache
  std::string by = {};  ///< which rule of which file excludes it, and why
};

/// A winner and how it was found.
struct WinnerMatch {
  WinnerRecord winner = {};
  DeviceKey device = {};   ///< where it was measured
  Features features = {};  ///< of the problem it was measured on
  Provenance provenance = Provenance::tuned_here;
  double distance = 0;  ///< 0 for the same problem
  bool plain = false;   ///< tuned for ProblemKey::plain
};

class TuningStore {
 public:
  virtual ~TuningStore() = default;
  /// Candidates for a decision, best first. The order: the same problem and device through the layers, the same without
  /// the fused epilogue, the nearest problem of these exact parts on this device within the documented distance, the
  /// nearest device. May be empty. The caller checks each against the rules and takes the first that passes.
  virtual std::vector<WinnerMatch> find(const ProblemKey& problem, const DeviceKey& device) = 0;
  /// Only the matches of find for this very problem, or for it without its epilogue, on a device of this model. Reads
  /// far fewer rows than a search for neighbours.
  virtual std::vector<WinnerMatch> find_same(const ProblemKey& problem, const DeviceKey& device) = 0;
  /// Choices for this very problem that find_same omits because of known faults, for explanations. None in a
  /// store without such rules.
  virtual std::vector<MaskedWinner> masked(const ProblemKey& /*problem*/, const DeviceKey& /*device*/) { return {}; }
  /// Every trial stored for exactly this problem and device.
  virtual std::vector<TrialRecord> trials(const ProblemKey& problem, const DeviceKey& device) = 0;
  /// The passes and failures of this machine code, over all layers.
  virtual CodeStanding standing(const std::string& code_digest) = 0;
  /// Adds or replaces trials (same family, config and code digest); published together, at once.
  virtual void add_trials(const ProblemKey& problem, const DeviceKey& device, std::span<const TrialRecord> trials) = 0;
  void add_trial(const ProblemKey& problem, const DeviceKey& device, const TrialRecord& trial) {
    add_trials(problem, device, {&trial, 1});
  }
  virtual void set_winner(const ProblemKey& problem, const DeviceKey& device, const WinnerRecord& winner) = 0;
};

/// The identity of code: `key` decides, the rest is recorded for information.
struct CodeEntry {
  std::string key = {};
  std::string family = {};
  std::string expression = {};
  std::string architecture = {};
  std::string compiler = {};
};

class CodeStore {
 public:
  virtual ~CodeStore() = default;
  /// A stored image whose digest matches; a damaged row is removed and is a miss.
  virtual std::optional<device::Image> find(const std::string& key) = 0;
  virtual void put(const CodeEntry& entry, const device::Image& image) = 0;
  /// The driver refused it: drop the row.
  virtual void drop(const std::string& key) = 0;
};

/// The two stores of a context: tuned choices, and compiled code.
struct Stores {
  std::shared_ptr<TuningStore> tuning = {};  ///< never null
  std::shared_ptr<CodeStore> code = {};      ///< never null
};

/// In memory only: the fallback of a disabled or failing cache.
Stores memory_stores();

}  // namespace vostok::plan
