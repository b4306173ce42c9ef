// The tools that take a context, on its session.
#include <vostok/tools.hpp>

#include "base/boundary.hpp"
#include "context_state.hpp"
#include "plan/tools.hpp"

namespace vostok {

namespace {

/// A public tool: `run` on the context's session.
template <class Run>
auto with_session(const Context& context, const char* verb, const char* object, const Run& run) {
  const ContextState& state = state_of(context, verb, object);
  return at_boundary(verb, object, [&] { return run(state.session); });
}

template <class Mask>
Topology make(const Context& context, const Mask& mask, Stream stream) {
  return with_session(context, "make", "mask",
                      [&](const auto& session) { return plan::make_mask(session, mask, stream); });
}

}  // namespace

DeviceArray make_array(const Context& context, std::int64_t bytes) {
  return with_session(context, "make", "array", [&](const auto& session) { return plan::make_array(session, bytes); });
}

void copy_to_device(const Context& context, void* device, const void* host, std::int64_t bytes, Stream stream) {
  with_session(context, "copy", "to device memory",
               [&](const auto& session) { plan::copy_to_device(*session, device, host, bytes, stream); });
}

void copy_to_host(const Context& context, void* host, const void* device, std::int64_t bytes, Stream stream) {
  with_session(context, "copy", "to host memory",
               [&](const auto& session) { plan::copy_to_host(*session, host, device, bytes, stream); });
}

SparseMatrix sparse_above(const Context& context, const DenseView& dense, float threshold, Stream stream) {
  return with_session(context, "compress", "dense matrix",
                      [&](const auto& session) { return plan::sparse_above(session, dense, threshold, stream); });
}

SparseMatrix sparse_largest(const Context& context, const DenseView& dense, std::int64_t count, Per per,
                            Stream stream) {
  return with_session(context, "compress", "dense matrix",
                      [&](const auto& session) { return plan::sparse_largest(session, dense, count, per, stream); });
}

Topology make_mask(const Context& context, const UniformMask& mask, Stream stream) {
  return make(context, mask, stream);
}
Topology make_mask(const Context& context, const BlockMask& mask, Stream stream) { return make(context, mask, stream); }
Topology make_mask(const Context& context, const BandedMask& mask, Stream stream) {
  return make(context, mask, stream);
}
Topology make_mask(const Context& context, const AttentionMask& mask, Stream stream) {
  return make(context, mask, stream);
}

}  // namespace vostok
