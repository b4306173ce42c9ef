#include "ops/topology/runs_format.hpp"

#include "ops/topology/pack_runs.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops {

namespace {

/// Codes and starts belong to the topology: a set contains only values, so that its size is simply theirs.
class RunsFormat final : public PackedFormat {
 public:
  RunsFormat(int gap_bits, Dtype element) : gap_bits_(gap_bits), element_(element) {}

  std::string name() const override { return runs_format(gap_bits_, element_); }
  TopologyNeeds needs() const override { return {.run_gap_bits = gap_bits_}; }
  std::int64_t set_bytes(const TopologyPointers& form) const override {
    return run_value_bytes(form.runs.groups, element_);
  }
  std::int64_t used_bytes(const TopologyPointers& form) const override { return set_bytes(form); }
  std::vector<Dtype> value_types() const override { return {element_}; }
  Launch pack_launch(const PackTask& task) const override {
    const PackRuns what = {.element = element_,
                           .gap_bits = gap_bits_,
                           .structure = task.topology.runs,
                           .value_stride = task.value_stride,
                           .sets = task.sets};
    return pack_runs_launch<Packing>(what, [](const Packing& call) { return call; });
  }

 private:
  int gap_bits_;
  Dtype element_;
};

}  // namespace

void add_runs_formats(std::vector<std::unique_ptr<PackedFormat>>& list) {
  for (const int gap_bits : {4, 8})
    for (int i = 0; vostok::name(static_cast<Dtype>(i)) != nullptr; ++i)
      list.push_back(std::make_unique<RunsFormat>(gap_bits, static_cast<Dtype>(i)));
}

}  // namespace vostok::ops
