#include "ops/topology/sparse_format.hpp"

#include <cstring>

#include "base/text.hpp"
#include "ops/topology/pack_sparse.hpp"

namespace vostok::ops {

namespace {

template <class T>
std::vector<T> read(device::Device& device, const T* memory, std::size_t count) {
  std::vector<T> values(count);
  if (count > 0) device.copy_to_host(values.data(), memory, static_cast<std::int64_t>(count * sizeof(T)));
  return values;
}

class SparseFormat final : public PackedFormat {
 public:
  explicit SparseFormat(Dtype element) : element_(element) {}

  std::string name() const override { return sparse_format(element_); }
  TopologyNeeds needs() const override { return {.sparse_strips = true}; }
  std::int64_t set_bytes(const TopologyPointers& form) const override { return sparse_set_bytes(form.sparse); }
  std::int64_t used_bytes(const TopologyPointers& form) const override { return std::int64_t{form.sparse.units} * packed_unit_bytes(); }
  Launch pack_launch(const PackTask& task) const override {
    const PackSparse what = {.structure = task.topology.sparse,
                             .set_bytes = sparse_set_bytes(task.topology.sparse),
                             .value_stride = task.value_stride,
                             .sets = task.sets,
                             .multiprocessors = task.multiprocessors};
    return pack_sparse_launch<Packing>(what, [](const Packing& call) { return call; });
  }

  /// Kernels find their way by the strips' headers, which lie among the values.
  std::optional<std::string> foreign(device::Device& device, const TopologyPointers& form, std::span<const std::byte> set) const override {
    const auto strips = std::size_t{form.sparse.row_strips} * form.sparse.k_blocks;
    const auto headers = read(device, form.sparse.headers, strips);
    const auto offsets = read(device, form.sparse.unit_offsets, strips + 1);
    for (std::size_t strip = 0; strip < strips; ++strip)
      if (std::memcmp(set.data() + std::size_t{offsets[strip]} * packed_unit_bytes(), &headers[strip], sizeof(headers[strip])) != 0)
        return fmt::format("the header of strip {} is not the topology's", strip);
    return std::nullopt;
  }

 private:
  Dtype element_;
};

}  // namespace

void add_sparse_formats(std::vector<std::unique_ptr<PackedFormat>>& list) {
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) list.push_back(std::make_unique<SparseFormat>(element));
}

}  // namespace vostok::ops
