#include "ops/softmax/split_softmax.hpp"

#include <limits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/softmax/decisions.hpp"
#include "ops/topology/csr.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<SplitSoftmaxConfig>(), "fields(SplitSoftmaxConfig) must name every member");

/// Fills both kernels' arguments from a call's, forward or backward.
struct BindSplitSoftmax {
  SplitSoftmaxArgs fixed;
  std::int64_t strip_blocks;

  template <class Call>
  device::Dim3 operator()(const Call& call, SplitSoftmaxArgs& args) const {
    args = fixed;
    args.operands = with_call(fixed.operands, call);
    args.partials = call.workspace;
    return grid_of(strip_blocks, fixed.operands.batch);
  }
};

template <class QueryType>
struct SplitSoftmax : SoftmaxFamily<QueryType, SplitSoftmaxConfig, SplitSoftmaxDecisions> {
  using typename SoftmaxFamily<QueryType, SplitSoftmaxConfig, SplitSoftmaxDecisions>::Call;
  static constexpr std::string_view name = "split_softmax";

  static std::optional<std::string> declines(const QueryType& query) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (query.statistics.rows > most || query.statistics.nonzeros > most)
      return "strips hold rows and entries in 32 bits";
    if (query.statistics.nonzeros == 0) return "there is nothing to cut into strips";
    if (query.problem.batch > most) return "batch numbers have 32 bits";
    return std::nullopt;
  }
  static TopologyNeeds needs(const QueryType& query, const SplitSoftmaxConfig& config) {
    return {.index = query.index, .strip_entries = config.strip_entries};
  }

  static std::int64_t workspace_bytes(const QueryType& query, const SplitSoftmaxConfig& config) {
    const SoftmaxTraits traits = softmax_subject(query).traits;
    if (traits.statistics == RowStatistics::read) return 0;
    const std::int64_t partials =
        checked_multiply(strip_room(query.statistics, config.strip_entries), query.problem.batch, "the partial sums");
    return checked_multiply(partials, partial_bytes(traits), "the workspace's bytes");
  }

  static std::vector<Launch> launches(const QueryType& query, const SplitSoftmaxConfig& config,
                                      const TopologyPointers& topology) {
    const SoftmaxTraits traits = softmax_subject(query).traits;
    const BindSplitSoftmax binding{.fixed = {.operands = softmax_operands(query, topology.row_offsets),
                                             .strips = topology.strips,
                                             .strip_count = topology.strip_count,
                                             .partials = nullptr,
                                             .partial_stride = strip_room(query.statistics, config.strip_entries)},
                                   .strip_blocks = ceil_div(topology.strip_count, config.strips_per_block)};
    const auto launch = [&](const char* kernel) {
      return Launch::of<Call, SplitSoftmaxArgs>(
          {.family = "split_softmax",
           .header = "softmax/split_softmax.h",
           .expression = codegen::name_expression(kernel, "SoftmaxTraits", traits, "SplitSoftmaxConfig", config)},
          {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(traits, config)},
          binding);
    };
    std::vector<Launch> list;
    if (traits.statistics != RowStatistics::read) list.push_back(launch("split_softmax_sum"));
    list.push_back(launch("split_softmax_store"));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_split_softmax() { return family_of<SplitSoftmax<SoftmaxQuery>>(); }
std::unique_ptr<Family> make_split_softmax_backward() { return family_of<SplitSoftmax<SoftmaxBackwardQuery>>(); }

}  // namespace vostok::ops
