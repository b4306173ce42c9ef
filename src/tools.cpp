// The tools that take a context, on its session.
#include <vostok/tools.hpp>

#include "context_state.hpp"
#include "plan/tools.hpp"

namespace vostok {

SparseMatrix sparse_above(const Context& context, const DenseView& dense, float threshold, Stream stream) {
  return plan::sparse_above(context.state()->session, dense, threshold, stream);
}

SparseMatrix sparse_largest(const Context& context, const DenseView& dense, std::int64_t count, Per per, Stream stream) {
  return plan::sparse_largest(context.state()->session, dense, count, per, stream);
}

Topology make_mask(const Context& context, const UniformMask& mask, Stream stream) { return plan::make_mask(context.state()->session, mask, stream); }
Topology make_mask(const Context& context, const BlockMask& mask, Stream stream) { return plan::make_mask(context.state()->session, mask, stream); }
Topology make_mask(const Context& context, const BandedMask& mask, Stream stream) { return plan::make_mask(context.state()->session, mask, stream); }
Topology make_mask(const Context& context, const AttentionMask& mask, Stream stream) {
  return plan::make_mask(context.state()->session, mask, stream);
}

}  // namespace vostok
