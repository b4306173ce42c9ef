#include "ops/topology/strip_format.hpp"

#include "ops/topology/pack_strips.hpp"

namespace vostok::ops {

namespace {

class StripFormat final : public PackedFormat {
 public:
  explicit StripFormat(StripKind kind) : kind_(kind) {}

  std::string name() const override { return packed_format(kind_); }
  TopologyNeeds needs() const override { return strip_needs(kind_.grain); }
  std::int64_t set_bytes(const TopologyPointers& form) const override {
    return packed_layout(kind_, form.packed).set_bytes;
  }
  std::int64_t used_bytes(const TopologyPointers& form) const override {
    return packed_layout(kind_, form.packed).used_bytes;
  }
  Launch pack_launch(const PackTask& task) const override {
    const PackStrips what = {.kind = kind_,
                             .keeps_exact = kind_.marked,
                             .element = task.element,
                             .structure = task.topology.packed,
                             .layout = packed_layout(kind_, task.topology.packed),
                             .value_stride = task.value_stride,
                             .sets = task.sets,
                             .multiprocessors = task.multiprocessors};
    return pack_strips_launch<Packing>(what, [](const Packing& call) { return call; });
  }
  std::vector<Dtype> value_types() const override {
    std::vector<Dtype> types;
    for (const Dtype type : {Dtype::f16, Dtype::bf16, Dtype::f32})
      if (packs(kind_.mode, type)) types.push_back(type);
    return types;
  }

 private:
  StripKind kind_;
};

}  // namespace

void add_strip_formats(std::vector<std::unique_ptr<PackedFormat>>& list) {
  for (const StripKind& kind : strip_kinds()) list.push_back(std::make_unique<StripFormat>(kind));
}

}  // namespace vostok::ops
