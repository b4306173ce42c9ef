// Device memory, and topologies.
#include "c/handles.hpp"
#include "c/index_type.hpp"
#include "c/structures.hpp"

namespace vostok::c {

template <>
struct Structure<vostok_csr> {
  static constexpr const char* name = "vostok_csr";
  static void set_defaults(vostok_csr& made) {
    made.row_offset_bytes = sizeof(std::int32_t);
    made.column_index_bytes = sizeof(std::int32_t);
    made.nonzeros = CsrView{}.nonzeros;
  }
};

namespace {

IndexArray index_array(const char* field, const void* data, std::int32_t bytes) {
  switch (bytes) {
    case sizeof(std::uint16_t): return static_cast<const std::uint16_t*>(data);
    case sizeof(std::int32_t): return static_cast<const std::int32_t*>(data);
    case sizeof(std::int64_t): return static_cast<const std::int64_t*>(data);
    default: fail(ErrorCode::invalid_argument, "cannot read vostok_csr: {} = {} is none of 2, 4, 8", field, bytes);
  }
}

CsrView csr_of(const vostok_csr* given) {
  const vostok_csr known = read(given);
  return {.rows = known.rows,
          .cols = known.cols,
          .row_offsets = index_array("row_offset_bytes", known.row_offsets, known.row_offset_bytes),
          .column_indices = index_array("column_index_bytes", known.column_indices, known.column_index_bytes),
          .nonzeros = known.nonzeros};
}

vostok_statistics statistics_of(const TopologyStatistics& statistics) {
  return {.size = sizeof(vostok_statistics),
          .sorted = statistics.sorted,
          .duplicates = statistics.duplicates,
          .reserved = 0,
          .rows = statistics.rows,
          .cols = statistics.cols,
          .nonzeros = statistics.nonzeros,
          .longest_row = statistics.longest_row,
          .empty_rows = statistics.empty_rows,
          .mean_row = statistics.mean_row,
          .row_variation = statistics.row_variation,
          .run_share = statistics.run_share,
          .span_share = statistics.span_share};
}

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_array_create(const vostok_context* context, std::int64_t bytes, vostok_array** array) {
  return make_handle(array, "array", [&] { return vostok::make_array(context_of(context), bytes); });
}

vostok_array* vostok_array_retain(vostok_array* array) { return retain(array); }

void vostok_array_release(vostok_array* array) { release(array); }

void* vostok_array_data(const vostok_array* array) { return array == nullptr ? nullptr : array->value.data(); }

std::int64_t vostok_array_bytes(const vostok_array* array) { return array == nullptr ? 0 : array->value.bytes(); }

vostok_status vostok_copy_to_device(const vostok_context* context, void* device, const void* host, std::int64_t bytes,
                                    void* stream) {
  return guarded([&] { vostok::copy_to_device(context_of(context), device, host, bytes, stream_of(stream)); });
}

vostok_status vostok_copy_to_host(const vostok_context* context, void* host, const void* device, std::int64_t bytes,
                                  void* stream) {
  return guarded([&] { vostok::copy_to_host(context_of(context), host, device, bytes, stream_of(stream)); });
}

void vostok_csr_init(vostok_csr* csr, size_t size) { initialise(csr, size); }

vostok_status vostok_topology_create(const vostok_context* context, const vostok_csr* csr, void* stream,
                                     vostok_topology** topology) {
  return make_handle(topology, "topology",
                     [&] { return context_of(context).topology(csr_of(csr), stream_of(stream)); });
}

vostok_topology* vostok_topology_retain(vostok_topology* topology) { return retain(topology); }

void vostok_topology_release(vostok_topology* topology) { release(topology); }

vostok_status vostok_topology_statistics(const vostok_topology* topology, vostok_statistics* statistics) {
  return guarded([&] { fill(statistics, statistics_of(topology_of(topology).statistics()), "vostok_statistics"); });
}

vostok_status vostok_topology_device_bytes(const vostok_topology* topology, std::int64_t* bytes) {
  return guarded([&] { required(bytes, "bytes") = topology_of(topology).device_bytes(); });
}

vostok_status vostok_topology_release_source(const vostok_topology* topology) {
  return guarded([&] { topology_of(topology).release_source(); });
}

vostok_status vostok_topology_release_packing(const vostok_topology* topology) {
  return guarded([&] { topology_of(topology).release_packing(); });
}

vostok_status vostok_topology_read(const vostok_topology* topology, void* row_offsets, void* column_indices,
                                   std::int32_t index_bytes, void* stream) {
  return guarded([&] {
    const vostok::Topology& source = topology_of(topology);
    with_index_type(index_bytes, [&](auto index) {
      using Index = decltype(index);
      vostok::read_csr(source, static_cast<Index*>(row_offsets), static_cast<Index*>(column_indices),
                       stream_of(stream));
    });
  });
}
