// Runs a config of a family that reads packed strips on one device, below the planner: strips packed on the host or by
// the family's own launch, output and workspace poisoned.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/packed_run.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "sparse/packed_strips.hpp"

namespace vostok::test {

/// One product to check.
struct UnpackCase {
  UnpackCase(const sparse::Csr& csr, const Spmm& problem, std::uint64_t seed)
      : host(problem, csr, seed, -0.75F), form(sparse::packed_form(host.walked, host.value_positions)) {}

  tune::SpmmHost host;
  sparse::PackedForm form;
  mutable std::map<PackedGrain, sparse::PackedForm> other_forms =
      {};  ///< of other grains, made when they are asked for

  const sparse::PackedForm& form_of(PackedGrain grain) const {
    if (grain == PackedGrain::pair) return form;
    if (!other_forms.contains(grain))
      other_forms.emplace(grain, sparse::packed_form(host.walked, host.value_positions, grain));
    return other_forms.at(grain);
  }
  std::optional<ops::SizeRange> sizes = {};  ///< that the choice serves; empty: the problem's n alone

  const Spmm& problem() const { return host.problem; }
  TopologyStatistics statistics() const {
    const sparse::Csr& a = host.walked;
    return sparse::statistics(a.rows, a.cols, a.row_offsets, a.column_indices);
  }
  ops::SpmmQuery query(const device::Device* device) const {
    return *ops::make_query(problem(), statistics(), sizes.value_or(ops::SizeRange{problem().n, problem().n}), device);
  }
};

/// The structure of packed strips in device memory, made on the host.
class DeviceForm {
 public:
  DeviceForm(device::Device& device, const sparse::PackedForm& form)
      : headers_(uploaded(device, form.headers)),
        row_starts_(uploaded(device, form.row_starts)),
        slot_offsets_(uploaded(device, form.slot_offsets)),
        slots_(uploaded(device, form.slots)),
        value_places_(uploaded(device, form.value_places)),
        one_word_(uploaded(device, form.unit_offsets(1))),
        two_words_(uploaded(device, form.unit_offsets(2))),
        left_starts_(uploaded(device, form.left_starts)),
        left_places_(uploaded(device, form.left_places)),
        left_sources_(uploaded(device, form.left_sources)) {
    pointers_.packed = {.headers = headers_.as<unsigned>(),
                        .row_starts = row_starts_.as<int>(),
                        .slot_offsets = slot_offsets_.as<unsigned>(),
                        .slots = slots_.as<unsigned short>(),
                        .value_places = form.value_places.empty() ? nullptr : value_places_.as<int>(),
                        .unit_offsets = {one_word_.as<unsigned>(), two_words_.as<unsigned>()},
                        .left_starts = form.left_starts.empty() ? nullptr : left_starts_.as<unsigned>(),
                        .left_places = left_places_.as<unsigned>(),
                        .left_sources = left_sources_.as<int>(),
                        .nonzeros = static_cast<unsigned>(form.nonzeros()),
                        .row_strips = static_cast<unsigned>(form.row_strips),
                        .k_blocks = static_cast<unsigned>(form.k_blocks),
                        .units = {form.unit_offsets(1).back(), form.unit_offsets(2).back()},
                        .left = static_cast<unsigned>(form.left_places.size()),
                        .grain = form.grain};
  }
  const ops::TopologyPointers& pointers() const { return pointers_; }

 private:
  device::Buffer headers_, row_starts_, slot_offsets_, slots_, value_places_, one_word_, two_words_, left_starts_,
      left_places_, left_sources_;
  ops::TopologyPointers pointers_;
};

/// Every set of a case's values, packed on the host and laid out as Plan::pack lays them out.
inline std::vector<std::byte> packed_sets(const UnpackCase& c, ops::StripKind kind, const ops::PackedLayout& layout) {
  const Spmm& problem = c.problem();
  const std::int64_t sets = problem.values_per_batch ? problem.batch : 1;
  std::vector<std::byte> all(static_cast<std::size_t>(sets * layout.set_bytes), std::byte{0xff});
  const auto nonzeros = static_cast<std::size_t>(c.host.walked.nonzeros());
  for (std::int64_t set = 0; set < sets; ++set) {
    const auto values =
        std::span<const float>(c.host.values).subspan(static_cast<std::size_t>(set * c.host.value_stride), nonzeros);
    const sparse::PackedMatrix packed = sparse::pack(c.form_of(kind.grain), kind.mode, problem.element,
                                                     sparse::to_storage(problem.element, values), kind.marked);
    std::byte* const at = all.data() + set * layout.set_bytes;
    const auto scales = std::as_bytes(std::span(packed.row_scales));
    const auto data = std::as_bytes(std::span(packed.data));
    std::copy(scales.begin(), scales.end(), at);
    std::copy(data.begin(), data.end(), at + layout.data_offset_bytes);
    const auto left_over = std::as_bytes(std::span(packed.left_over));
    std::copy(left_over.begin(), left_over.end(), at + layout.left_offset_bytes);
    const auto firsts = std::as_bytes(std::span(packed.firsts));
    const auto exact = std::as_bytes(std::span(packed.exact));
    std::copy(firsts.begin(), firsts.end(), at + layout.firsts_offset_bytes);
    std::copy(exact.begin(), exact.end(), at + layout.exact_offset_bytes);
  }
  return all;
}

/// A case's operands on a device, its strips packed on the host or by the family's own launch.
class UnpackRun : private DeviceForm, public PackedRun {
 public:
  UnpackRun(device::Device& device, const ops::Family& family, const UnpackCase& c, const ops::Config& config)
      : UnpackRun(device, family, c, config, family.packed_format(c.query(&device), config)) {}

 private:
  UnpackRun(device::Device& device, const ops::Family& family, const UnpackCase& c, const ops::Config& config,
            const std::string& format)
      : DeviceForm(device, c.form_of(ops::find_strip_kind(format)->grain)),
        PackedRun(device, family, c.host, c.query(&device), config, pointers(),
                  sets(c, *ops::find_strip_kind(format), pointers())) {}

  static std::vector<std::byte> sets(const UnpackCase& c, ops::StripKind kind, const ops::TopologyPointers& form) {
    if (c.problem().value_lifetime != ValueLifetime::persistent) return {};
    return packed_sets(c, kind, ops::packed_layout(kind, form.packed));
  }
};

/// C as the device computes it with this config.
inline std::vector<float> run_unpack(device::Device& device, const ops::Family& family, const UnpackCase& c,
                                     const ops::Config& config) {
  const UnpackRun run(device, family, c, config);
  run.enqueue();
  return run.output();
}

/// Element by element against float64 (check_output).
inline void check_unpack(const NamedDevice& on, const ops::Family& family, const UnpackCase& c,
                         const ops::Config& config) {
  INFO(on.name, ": ", described(c.host), "; ", to_text(config.to_map()));
  constexpr double two_roundings_to_11_bits = 0x1p-10;
  const bool rounds = config.to_map().at("mode") == name(PackedMode::f16_scaled);
  check_output(c.host, run_unpack(*on.device, family, c, config),
               rounds ? two_roundings_to_11_bits : element_tolerance(c.problem()));
}

}  // namespace vostok::test
