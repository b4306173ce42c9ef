// Packed values.
#include "c/plans.hpp"

namespace vostok::c {

namespace {

const PackedValues& packed_of(const vostok_packed* packed) { return required(packed, "packed").value; }

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_plan_pack(const vostok_plan* plan, void* stream, const void* values, vostok_packed** packed) {
  return make_handle(packed, "packed", [&] { return plan_of<vostok::Spmm>(plan, "pack values for").pack(stream_of(stream), values); });
}

vostok_packed* vostok_packed_retain(vostok_packed* packed) { return retain(packed); }

void vostok_packed_release(vostok_packed* packed) { release(packed); }

const char* vostok_packed_format(const vostok_packed* packed) {
  return guarded_text([&] { return packed_of(packed).format(); });
}

std::int64_t vostok_packed_bytes(const vostok_packed* packed) {
  return guarded_value(std::int64_t{-1}, [&] { return packed_of(packed).bytes(); });
}

vostok_status vostok_packed_topology(const vostok_packed* packed, vostok_topology** topology) {
  return make_handle(topology, "topology", [&] { return packed_of(packed).topology(); });
}

vostok_status vostok_packed_save(const vostok_packed* packed, vostok_bytes** bytes) {
  return make_handle(bytes, "bytes", [&] { return packed_of(packed).save(); });
}

vostok_status vostok_packed_load(const vostok_context* context, const vostok_topology* topology, const void* data, size_t size,
                                 vostok_packed** packed) {
  return make_handle(packed, "packed", [&] { return context_of(context).load_packed(topology_of(topology), span_of(data, size)); });
}
