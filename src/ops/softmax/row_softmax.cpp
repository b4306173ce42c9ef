#include "ops/softmax/row_softmax.hpp"

#include <limits>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/softmax/decisions.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<RowSoftmaxConfig>(), "fields(RowSoftmaxConfig) must name every member");

/// Fills the kernel's arguments from a call's, forward or backward.
struct BindRowSoftmax {
  RowSoftmaxArgs fixed;
  std::int64_t row_blocks;

  template <class Call>
  device::Dim3 operator()(const Call& call, RowSoftmaxArgs& args) const {
    args = fixed;
    args.operands = with_call(fixed.operands, call);
    return grid_of(row_blocks, fixed.operands.batch);
  }
};

template <class QueryType>
struct RowSoftmax : SoftmaxFamily<QueryType, RowSoftmaxConfig, RowSoftmaxDecisions> {
  using typename SoftmaxFamily<QueryType, RowSoftmaxConfig, RowSoftmaxDecisions>::Call;
  static constexpr std::string_view name = "row_softmax";

  static std::optional<std::string> declines(const QueryType& query) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (query.statistics.rows > most) return "row numbers have 32 bits";
    if (query.statistics.longest_row > most / 2) return "positions within a row have 32 bits";
    if (query.problem.batch > most) return "batch numbers have 32 bits";
    return std::nullopt;
  }
  static TopologyNeeds needs(const QueryType& query, const RowSoftmaxConfig& config) {
    return {.index = query.index, .row_order = config.row_swizzle};
  }
  static std::int64_t workspace_bytes(const QueryType&, const RowSoftmaxConfig&) { return 0; }

  static std::vector<Launch> launches(const QueryType& query, const RowSoftmaxConfig& config,
                                      const TopologyPointers& topology) {
    const SoftmaxTraits traits = softmax_subject(query).traits;
    const bool writes = query.statistics.nonzeros > 0 || traits.statistics == RowStatistics::write;
    const BindRowSoftmax binding{
        .fixed = {.operands = softmax_operands(query, topology.row_offsets), .row_order = topology.row_order},
        .row_blocks = writes ? ceil_div(query.statistics.rows, config.rows_per_block) : 0};
    return {Launch::of<Call, RowSoftmaxArgs>(
        {.family = "row_softmax",
         .header = "softmax/row_softmax.h",
         .expression = codegen::name_expression("row_softmax", "SoftmaxTraits", traits, "RowSoftmaxConfig", config)},
        {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(traits, config)},
        binding)};
  }
};

}  // namespace

std::unique_ptr<Family> make_row_softmax() { return family_of<RowSoftmax<SoftmaxQuery>>(); }
std::unique_ptr<Family> make_row_softmax_backward() { return family_of<RowSoftmax<SoftmaxBackwardQuery>>(); }

}  // namespace vostok::ops
