#include "ops/topology/strip_format.hpp"

#include <cstring>

#include "base/text.hpp"
#include "ops/topology/pack_strips.hpp"

namespace vostok::ops {

namespace {

class StripFormat final : public PackedFormat {
 public:
  explicit StripFormat(StripKind kind) : mode_(kind.mode), grain_(kind.grain) {}

  std::string name() const override { return packed_format({mode_, grain_}); }
  TopologyNeeds needs() const override { return strip_needs(grain_); }
  std::int64_t set_bytes(const TopologyPointers& form) const override { return packed_layout(mode_, form.packed).set_bytes; }
  std::int64_t used_bytes(const TopologyPointers& form) const override { return packed_layout(mode_, form.packed).used_bytes; }
  Launch pack_launch(const PackTask& task) const override {
    const PackStrips what = {.mode = mode_,
                             .grain = grain_,
                             .element = task.element,
                             .structure = task.topology.packed,
                             .layout = packed_layout(mode_, task.topology.packed),
                             .value_stride = task.value_stride,
                             .sets = task.sets,
                             .multiprocessors = task.multiprocessors};
    return pack_strips_launch<Packing>(what, [](const Packing& call) { return call; });
  }

  /// Kernels find their way by the strips' headers, which lie among the values.
  std::optional<std::string> foreign(device::Device& device, const TopologyPointers& form, std::span<const std::byte> set) const override {
    const PackedStructure& structure = form.packed;
    const auto strips = std::size_t{structure.row_strips} * structure.k_blocks;
    const auto header_bytes = static_cast<std::size_t>(packed_header_bytes(grain_));
    std::vector<std::byte> headers(strips * header_bytes);
    std::vector<std::uint32_t> offsets(strips + 1);
    if (!headers.empty()) device.copy_to_host(headers.data(), structure.headers, static_cast<std::int64_t>(headers.size()));
    device.copy_to_host(offsets.data(), structure.unit_offsets[packed_pair_words(mode_) - 1], static_cast<std::int64_t>(4 * offsets.size()));
    const auto first = static_cast<std::size_t>(packed_layout(mode_, structure).data_offset_bytes);
    for (std::size_t strip = 0; strip < strips; ++strip)
      if (std::memcmp(set.data() + first + std::size_t{offsets[strip]} * packed_unit_bytes(), headers.data() + strip * header_bytes, header_bytes) !=
          0)
        return fmt::format("the headers of strip {} are not the topology's", strip);
    return foreign_left_over(device, structure, set);
  }

 private:
  /// The same of the places of what is left over.
  std::optional<std::string> foreign_left_over(device::Device& device, const PackedStructure& structure, std::span<const std::byte> set) const {
    std::vector<std::uint32_t> places(structure.left);
    if (!places.empty()) device.copy_to_host(places.data(), structure.left_places, static_cast<std::int64_t>(4 * places.size()));
    const auto first = static_cast<std::size_t>(packed_layout(mode_, structure).left_offset_bytes);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (std::memcmp(set.data() + first + i * sizeof(LeftEntry), &places[i], sizeof(places[i])) != 0)
        return fmt::format("the place of entry {} that is left over is not the topology's", i);
    return std::nullopt;
  }

  PackedMode mode_;
  PackedGrain grain_;
};

}  // namespace

void add_strip_formats(std::vector<std::unique_ptr<PackedFormat>>& list) {
  for (const StripKind& kind : strip_kinds()) list.push_back(std::make_unique<StripFormat>(kind));
}

}  // namespace vostok::ops
