// A plan: decided, compiled, loaded; immutable and thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/problem.hpp>
#include <vostok/topology.hpp>

namespace vostok {

/// How hard `plan` may work.
enum class Effort {
  heuristic,  ///< the family's default; caches of tuned choices are not asked
  cached,     ///< a tuned choice if one is stored, else the heuristic. Never measures
  quick,      ///< race a short list
  full        ///< race everything the rules admit, within the budget
};
const char* name(Effort effort);

/// Where a config came from.
enum class Provenance { tuned_here, tuned_elsewhere, shipped, nearest_problem, nearest_device, heuristic };
const char* name(Provenance provenance);

/// A config as {field: value}, the way caches store it.
using FieldMap = std::map<std::string, std::string>;
/// "dense_vector=4 tile_rows=8 ..." sorted by field.
std::string to_text(const FieldMap& fields);

/// What became of one candidate.
struct Trial {
  std::string family = {};
  FieldMap config = {};
  bool is_default = false;
  std::string rejected = {};  ///< why it did not run to the end; empty if it did
  std::optional<double> median_us = {};
  std::optional<double> spread_us = {};  ///< half the distance between the 10th and 90th percentile
  int rounds = 0;
};

/// Which choice was made, from where, and why not another.
struct Explanation {
  std::string family = {};
  FieldMap config = {};
  Provenance provenance = Provenance::heuristic;
  std::string note = {};                            ///< e.g. the neighbour's distance, or why the heuristic was used
  std::optional<double> median_us = {};             ///< as measured when it was tuned
  std::optional<double> speedup_over_default = {};  ///< default's median over the choice's
  std::vector<Trial> trials = {};                   ///< everything known about this problem here, best first

  std::string text() const;  ///< a readable report, several lines
};

/// Device memory for one concurrent execute. Converts to the pointer that `execute` takes.
class Workspace {
 public:
  Workspace() = default;
  Workspace(std::shared_ptr<void> memory, std::int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  operator void*() const { return memory_.get(); }  // NOLINT: meant to convert
  std::int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> memory_;
  std::int64_t bytes_ = 0;
};

/// Operands of one SpMM. Device pointers, of the types and alignment that the problem declared.
struct SpmmArguments {
  const void* values = nullptr;         ///< nonzeros in CSR order
  const void* dense = nullptr;          ///< B[k,n]
  void* output = nullptr;               ///< C[m,n]; must not overlap an input
  const void* bias = nullptr;           ///< [m] or [n], f32, where the epilogue asks for it
  const void* residual = nullptr;       ///< [m,n], where the epilogue asks for it
  float scale = 1.0F;                   ///< where the epilogue's scale is `host`
  const float* device_scale = nullptr;  ///< where it is `device`
  void* workspace = nullptr;            ///< workspace_bytes() long, 256-byte aligned; may be null where that is 0
  std::int64_t n = 0;                   ///< only for a plan of several n (Spmm::n_values)
};

struct SpmmPlanState;

class SpmmPlan {
 public:
  SpmmPlan() = default;
  explicit SpmmPlan(std::shared_ptr<const SpmmPlanState> state) : state_(std::move(state)) {}

  /// Queues the product on `stream`. Thread-safe; legal while `stream` is being captured. Never compiles, loads,
  /// allocates, locks or synchronises. Throws misaligned_pointer or invalid_argument before anything is queued.
  void execute(Stream stream, const SpmmArguments& arguments) const;

  std::int64_t workspace_bytes() const;
  Workspace make_workspace() const;

  /// A plan for another mask of the same shape. Keeps the decision while the new mask's features stay in the same
  /// bucket: no look-up, no compile. Otherwise plans anew with the effort this plan was made with.
  SpmmPlan rebind(const Topology& topology) const;

  Provenance provenance() const;
  std::string family() const;
  FieldMap config() const;  ///< with several n: the choice for the largest
  Explanation explain() const;
  const Spmm& problem() const;

  explicit operator bool() const { return state_ != nullptr; }
  const std::shared_ptr<const SpmmPlanState>& state() const { return state_; }  ///< for the library

 private:
  std::shared_ptr<const SpmmPlanState> state_;
};

}  // namespace vostok
