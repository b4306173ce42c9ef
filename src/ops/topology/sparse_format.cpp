#include "ops/topology/sparse_format.hpp"

#include "ops/topology/pack_sparse.hpp"

namespace vostok::ops {

namespace {

class SparseFormat final : public PackedFormat {
 public:
  explicit SparseFormat(Dtype element) : element_(element) {}

  std::string name() const override { return sparse_format(element_); }
  TopologyNeeds needs() const override { return {.sparse_strips = true}; }
  std::int64_t set_bytes(const TopologyPointers& form) const override { return sparse_set_bytes(form.sparse); }
  std::int64_t used_bytes(const TopologyPointers& form) const override {
    return std::int64_t{form.sparse.units} * packed_unit_bytes();
  }
  Launch pack_launch(const PackTask& task) const override {
    const PackSparse what = {.structure = task.topology.sparse,
                             .set_bytes = sparse_set_bytes(task.topology.sparse),
                             .value_stride = task.value_stride,
                             .sets = task.sets,
                             .multiprocessors = task.multiprocessors};
    return pack_sparse_launch<Packing>(what, [](const Packing& call) { return call; });
  }

  std::vector<Dtype> value_types() const override { return {element_}; }

 private:
  Dtype element_;
};

}  // namespace

void add_sparse_formats(std::vector<std::unique_ptr<PackedFormat>>& list) {
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) list.push_back(std::make_unique<SparseFormat>(element));
}

}  // namespace vostok::ops
