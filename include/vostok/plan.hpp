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
  heuristic,  ///< the default config that the cost models predict to be fastest; caches of tuned choices are not asked
  cached,     ///< a tuned choice if one is stored, of this problem or a near one, else the heuristic. Never measures
  quick,      ///< race a short list
  full        ///< race everything the rules admit, within the budget
};
const char* name(Effort effort);

/// What a call finds in the last-level cache: the operands of the call before it (warm), or nothing of its own, like
/// the weights of a model larger than the cache (cold). This decides what is fastest, so the two are tuned and stored
/// separately.
enum class Policy { warm, cold };
const char* name(Policy policy);

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
  std::string operation =
      {};  ///< "spmm", "sddmm", ...; empty of a composed plan, whose steps have theirs, and where nothing is computed
  std::string family = {};
  FieldMap config = {};  ///< with heads_at_once, if attention computes its heads in several groups
  Provenance provenance = Provenance::heuristic;
  std::string note = {};                            ///< e.g. the neighbour's distance, or why the heuristic was used
  std::optional<double> median_us = {};             ///< as measured when it was tuned
  std::optional<double> speedup_over_default = {};  ///< default's median over the choice's
  std::optional<double> bound_us =
      {};  ///< of a product: memory time of all its operands, or the time of the dense product if that is longer
  /// True if the time, measured or else predicted, exceeds 2 * (3 us + bound_us): something is wrong with the choice,
  /// and tuning is worth it.
  bool is_slow = false;
  std::vector<Trial> trials = {};       ///< everything known about this problem here, best first
  std::vector<Explanation> steps = {};  ///< of a composed plan (attention): one for each step

  std::string text() const;  ///< a readable report, several lines
};

/// How much a plan tells of itself.
enum class Detail {
  choice,  ///< what was chosen, from where, and how fast it was
  trials   ///< also what became of every candidate: looks all of them up again, some tenths of a second where there are
           ///< many
};

/// Device memory for one concurrent execute. Converts to the pointer that `execute` takes.
class Workspace {
 public:
  Workspace() = default;
  Workspace(std::shared_ptr<void> memory, std::int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  operator void*() const { return memory_.get(); }  // NOLINT: meant to convert
  std::int64_t bytes() const { return memory_ ? bytes_ : 0; }

 private:
  std::shared_ptr<void> memory_;
  std::int64_t bytes_ = 0;
};

struct PlanState;

/// What the plans of all operations share. Handles: cheap to copy, shared, thread-safe.
class AnyPlan {
 public:
  std::int64_t workspace_bytes() const;
  /// Device memory for one concurrent execute; an empty handle where workspace_bytes() is 0.
  Workspace make_workspace() const;

  /// With several n: of the choice for the largest. Of a composed plan (attention): of its last step; explain() has
  /// all.
  Provenance provenance() const;
  std::string family() const;
  FieldMap config() const;
  /// Detail::trials costs some tenths of a second where there are many candidates.
  Explanation explain(Detail detail = Detail::choice) const;

  explicit operator bool() const { return state_ != nullptr; }
  const std::shared_ptr<const PlanState>& state() const { return state_; }  ///< for the library

 protected:
  AnyPlan() = default;
  explicit AnyPlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const PlanState> state_;
};

/// A plan for one problem of an operation: Spmm, Sddmm, Softmax, ...
template <class Problem>
class Plan : public AnyPlan {
 public:
  using Arguments = typename Problem::Arguments;

  Plan() = default;
  explicit Plan(std::shared_ptr<const PlanState> state) : AnyPlan(std::move(state)) {}

  /// Queues the work on `stream` (nullptr or legacy_stream: the legacy stream). Thread-safe; legal while `stream` is
  /// being captured. Never compiles, loads, allocates, locks or synchronises. Throws misaligned_pointer or
  /// invalid_argument before anything is queued: for an argument that is missing or that the problem does not use, and
  /// for an output that shares elements with another operand or the workspace, unless its argument allows that.
  /// Interleaved operands, such as slices of one array, are legal. Pointers may be null if there is nothing to compute.
  void execute(Stream stream, const Arguments& arguments) const;

  /// A plan for another mask of the same shape. Keeps the decision while the new mask's features stay in the same
  /// bucket: no look-up, no compile. Otherwise plans anew with the effort this plan was made with.
  Plan rebind(const Topology& topology) const
    requires Problem::masked;

  /// Packs values (as `.values` of execute: [nonzeros] or [batch, nonzeros], in CSR order of A) for `.packed` of this
  /// plan and of every other that reads the same format of the same topology. Reads them behind the work queued so far
  /// on `stream` (nullptr: they must be complete; legacy_stream: behind the legacy stream's work); ready for any stream
  /// on return. For plans whose value_lifetime is persistent. Errors: invalid_argument, misaligned_pointer,
  /// capture_active, out_of_memory.
  PackedValues pack(Stream stream, const void* values) const
    requires requires(const Problem& problem) { problem.value_lifetime; };
  /// As pack(), into the caller's memory of at least packed_bytes(). Packed values made there before are replaced;
  /// whoever reads them must have finished. Errors: as pack(); misaligned_pointer and invalid_argument for memory that
  /// does not suit, or shares bytes with `values`.
  PackedValues pack_into(Stream stream, const void* values, const PackedMemory& memory) const
    requires requires(const Problem& problem) { problem.value_lifetime; };
  /// Bytes of device memory that pack() takes; 0 where values are passed at every call.
  std::int64_t packed_bytes() const
    requires requires(const Problem& problem) { problem.value_lifetime; };
  /// The format of what pack() makes (PackedValues::format); empty if values are passed at every call. All choices of a
  /// plan for several n read one format: the one with the smallest slow-down in all against each choice's own, by the
  /// cost models.
  std::string packed_format() const
    requires requires(const Problem& problem) { problem.value_lifetime; };

  /// Bytes that a forward pass leaves in `.saved` for its backward pass.
  std::int64_t saved_bytes() const
    requires requires(const Problem& problem) { problem.saved; } ||
             requires(const Problem& problem) { problem.forward.saved; };

  const Problem& problem() const;
};

// Defined in the library.
extern template class Plan<Spmm>;
extern template class Plan<Sddmm>;
extern template class Plan<Softmax>;
extern template class Plan<SoftmaxBackward>;
extern template class Plan<SparseAttention>;
extern template class Plan<SparseAttentionBackward>;
extern template class Plan<DepthwiseConvolution>;
extern template class Plan<BiasActivation>;
extern template class Plan<Im2col>;

using SpmmPlan = Plan<Spmm>;
using SddmmPlan = Plan<Sddmm>;
using SoftmaxPlan = Plan<Softmax>;
using SoftmaxBackwardPlan = Plan<SoftmaxBackward>;
using AttentionPlan = Plan<SparseAttention>;
using AttentionBackwardPlan = Plan<SparseAttentionBackward>;
using DepthwisePlan = Plan<DepthwiseConvolution>;
using BiasActivationPlan = Plan<BiasActivation>;
using Im2colPlan = Plan<Im2col>;

}  // namespace vostok
