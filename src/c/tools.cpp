// Tools: dense to sparse and back, transposes, sorted columns, linear indices, masks.
#include "c/handles.hpp"
#include "c/index_type.hpp"
#include "c/structures.hpp"

namespace vostok::c {

template <>
struct Structure<vostok_dense> {
  static constexpr const char* name = "vostok_dense";
  static void set_defaults(vostok_dense&) {}
};

template <class Pass>
void each_mask_field(const Pass& pass, auto& c, UniformMask& mask) {
  pass("rows", c.rows, mask.rows);
  pass("cols", c.cols, mask.cols);
  pass("sparsity", c.sparsity, mask.sparsity);
  pass("seed", c.seed, mask.seed);
}

template <class Pass>
void each_mask_field(const Pass& pass, auto& c, BlockMask& mask) {
  pass("rows", c.rows, mask.rows);
  pass("cols", c.cols, mask.cols);
  pass("block_size", c.block_size, mask.block_size);
  pass("sparsity", c.sparsity, mask.sparsity);
  pass("seed", c.seed, mask.seed);
}

template <class Pass>
void each_mask_field(const Pass& pass, auto& c, BandedMask& mask) {
  pass("causal", c.causal, mask.causal);
  pass("rows", c.rows, mask.rows);
  pass("cols", c.cols, mask.cols);
  pass("width", c.width, mask.width);
}

template <class Pass>
void each_mask_field(const Pass& pass, auto& c, AttentionMask& mask) {
  pass("causal", c.causal, mask.causal);
  pass("rows", c.rows, mask.rows);
  pass("cols", c.cols, mask.cols);
  pass("width", c.width, mask.width);
  pass("sparsity", c.sparsity, mask.sparsity);
  pass("seed", c.seed, mask.seed);
}

template <class C, class Mask>
struct MaskStructure {
  static void set_defaults(C& made) {
    Mask standard;
    each_mask_field(GiveFields(), made, standard);
  }
};

template <>
struct Structure<vostok_uniform_mask> : MaskStructure<vostok_uniform_mask, UniformMask> {
  static constexpr const char* name = "vostok_uniform_mask";
};
template <>
struct Structure<vostok_block_mask> : MaskStructure<vostok_block_mask, BlockMask> {
  static constexpr const char* name = "vostok_block_mask";
};
template <>
struct Structure<vostok_banded_mask> : MaskStructure<vostok_banded_mask, BandedMask> {
  static constexpr const char* name = "vostok_banded_mask";
};
template <>
struct Structure<vostok_attention_mask> : MaskStructure<vostok_attention_mask, AttentionMask> {
  static constexpr const char* name = "vostok_attention_mask";
};

namespace {

template <class Mask, class C>
vostok_status make_mask_topology(const vostok_context* context, const C* given, void* stream,
                                 vostok_topology** topology) noexcept {
  return make_handle(topology, "topology", [&] {
    const C known = read(given);
    Mask mask;
    each_mask_field(TakeFields(Structure<C>::name), known, mask);
    return make_mask(context_of(context), mask, stream_of(stream));
  });
}

Dtype element_of(const vostok_dense& dense) {
  return enumerator<Dtype>(Structure<vostok_dense>::name, "element", dense.element);
}

DenseView view_of(const vostok_dense* given) {
  const vostok_dense dense = read(given);
  return {.data = dense.data,
          .rows = dense.rows,
          .cols = dense.cols,
          .leading = dense.leading,
          .element = element_of(dense)};
}

/// Two handles of one call: both, or neither.
template <class Make>
vostok_status make_pair_of(vostok_topology** topology, vostok_array** array, const char* array_argument,
                           const Make& make) {
  if (topology != nullptr) *topology = nullptr;
  if (array != nullptr) *array = nullptr;
  return guarded([&] {
    vostok_topology*& topology_place = required(topology, "topology");
    vostok_array*& array_place = required(array, array_argument);
    auto made = make();
    auto [made_topology, made_array] = std::move(made);
    auto owned = std::make_unique<vostok_topology>(std::move(made_topology));
    array_place = new vostok_array(std::move(made_array));
    topology_place = owned.release();
  });
}

void require_shape_of(const vostok_dense& dense, const Topology& topology) {
  if (dense.rows == topology.rows() && dense.cols == topology.cols()) return;
  fail(ErrorCode::invalid_argument, "cannot write dense matrix: it is {} x {}, and the topology {} x {}", dense.rows,
       dense.cols, topology.rows(), topology.cols());
}

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

void vostok_dense_init(vostok_dense* dense, size_t size) { initialise(dense, size); }
void vostok_uniform_mask_init(vostok_uniform_mask* mask, size_t size) { initialise(mask, size); }
void vostok_block_mask_init(vostok_block_mask* mask, size_t size) { initialise(mask, size); }
void vostok_banded_mask_init(vostok_banded_mask* mask, size_t size) { initialise(mask, size); }
void vostok_attention_mask_init(vostok_attention_mask* mask, size_t size) { initialise(mask, size); }

vostok_status vostok_sparse_above(const vostok_context* context, const vostok_dense* dense, float threshold,
                                  void* stream, vostok_topology** topology, vostok_array** values) {
  return make_pair_of(topology, values, "values", [&] {
    return vostok::sparse_above(context_of(context), view_of(dense), threshold, stream_of(stream));
  });
}

vostok_status vostok_sparse_largest(const vostok_context* context, const vostok_dense* dense, std::int64_t count,
                                    std::int32_t per, void* stream, vostok_topology** topology, vostok_array** values) {
  return make_pair_of(topology, values, "values", [&] {
    return vostok::sparse_largest(context_of(context), view_of(dense), count, static_cast<vostok::Per>(per),
                                  stream_of(stream));
  });
}

vostok_status vostok_to_dense(const vostok_topology* topology, const void* values, const vostok_dense* dense,
                              void* stream) {
  return guarded([&] {
    const vostok::Topology& source = topology_of(topology);
    const vostok_dense written = read(dense);
    require_shape_of(written, source);
    vostok::to_dense(source, values, {.data = written.data, .leading = written.leading, .element = element_of(written)},
                     stream_of(stream));
  });
}

vostok_status vostok_transpose(const vostok_topology* source, void* stream, vostok_topology** topology,
                               vostok_array** positions) {
  return make_pair_of(topology, positions, "positions",
                      [&] { return vostok::transpose(topology_of(source, "source"), stream_of(stream)); });
}

vostok_status vostok_sort_columns(const vostok_topology* source, void* stream, vostok_topology** topology,
                                  vostok_array** positions) {
  return make_pair_of(topology, positions, "positions",
                      [&] { return vostok::sort_columns(topology_of(source, "source"), stream_of(stream)); });
}

vostok_status vostok_linear_indices(const vostok_topology* topology, void* indices, std::int32_t index_bytes,
                                    void* stream) {
  return guarded([&] {
    const vostok::Topology& source = topology_of(topology);
    with_index_type(index_bytes, [&](auto index) {
      vostok::linear_indices(source, static_cast<decltype(index)*>(indices), stream_of(stream));
    });
  });
}

vostok_status vostok_make_uniform_mask(const vostok_context* context, const vostok_uniform_mask* mask, void* stream,
                                       vostok_topology** topology) {
  return make_mask_topology<vostok::UniformMask>(context, mask, stream, topology);
}

vostok_status vostok_make_block_mask(const vostok_context* context, const vostok_block_mask* mask, void* stream,
                                     vostok_topology** topology) {
  return make_mask_topology<vostok::BlockMask>(context, mask, stream, topology);
}

vostok_status vostok_make_banded_mask(const vostok_context* context, const vostok_banded_mask* mask, void* stream,
                                      vostok_topology** topology) {
  return make_mask_topology<vostok::BandedMask>(context, mask, stream, topology);
}

vostok_status vostok_make_attention_mask(const vostok_context* context, const vostok_attention_mask* mask, void* stream,
                                         vostok_topology** topology) {
  return make_mask_topology<vostok::AttentionMask>(context, mask, stream, topology);
}
