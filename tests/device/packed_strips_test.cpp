// Packed strips made on the device against the host's, bit for bit, in several thread orders: the structure, and the
// values in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "error_code.hpp"
#include "ops/topology/pack_strips.hpp"
#include "sparse/elements.hpp"
#include "sparse/packed_strips.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;
using test::DeviceVector;

namespace {

constexpr std::uint64_t seed = 41;

/// Matrices without repeats: no rows, no columns, no nonzeros, past the edges of strips and of groups of row strips,
/// empty and full rows, columns in no order, indices in 32 bits.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list = {test::mask_of_wide_columns(
      20, seed + 5)};  // first: what is affordable are the last, and this one has 17,504 strips
  list.push_back(sparse::uniform(300, 333, 0.8, seed));
  list.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 3, 5}, .column_indices = {69, 0, 1, 64, 63}});
  list.push_back({.rows = 0, .cols = 9});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed + 1));
  list.push_back(test::uneven_mask(257, 65, seed + 2));
  list.push_back(sparse::power_law(64, 2000, 4000, 1.2, seed + 3));
  sparse::Random random(seed + 4);
  for (int i = 0; i < 4; ++i)
    list.push_back(sparse::uniform(1 + random.below(400), 1 + random.below(400),
                                   0.05 * static_cast<double>(random.below(20)), random.bits()));
  return test::affordable(std::move(list), 2);
}

/// A matrix as kernels walk it, and where its values lie in A.
struct Walked {
  sparse::Csr csr;
  std::vector<std::int32_t> value_positions;
};

Walked walked(const sparse::Csr& csr, bool transposed) {
  if (!transposed) return {csr, {}};
  sparse::Transposed result = sparse::transpose(csr);
  return {std::move(result.csr), std::move(result.value_positions)};
}

sparse::PackedForm form_of(const Walked& matrix, PackedGrain grain) {
  return sparse::packed_form(matrix.csr, matrix.value_positions, grain);
}

/// Both directions and grains of every matrix, on every device: check(device, the structure there, the host's form,
/// matrix).
template <class Check>
void for_each_form(const Check& check) {
  INFO("seed " << seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& csr : matrices())
      for (const bool transposed : {false, true}) {
        const auto topology = on.topology(csr.view());
        for (const PackedGrain grain : {PackedGrain::pair, PackedGrain::four, PackedGrain::whole}) {
          INFO(on.on.name << ": " << csr.rows << " x " << csr.cols << ", " << csr.nonzeros() << " nonzeros"
                          << (transposed ? ", transposed, " : ", ") << name(grain));
          ops::TopologyNeeds needs = ops::strip_needs(grain);
          needs.transposed = transposed;
          check(on, topology->pointers(needs).packed, form_of(walked(csr, transposed), grain), csr);
        }
      }
}

}  // namespace

TEST_CASE("the structure of packed strips made on a device is the host's, bit for bit") {
  for_each_form([](const test::StepDevice& on, const PackedStructure& structure, const sparse::PackedForm& form,
                   const sparse::Csr&) {
    device::Device& device = on.device();
    CHECK(std::int64_t{structure.row_strips} == form.row_strips);
    CHECK(std::int64_t{structure.k_blocks} == form.k_blocks);
    CHECK(structure.grain == form.grain);
    CHECK(test::read(device, structure.headers, form.strips() * packed_header_words(form.grain)) == form.headers);
    CHECK(test::read(device, structure.row_starts, static_cast<std::int64_t>(form.row_starts.size())) ==
          form.row_starts);
    CHECK(test::read(device, structure.slot_offsets, form.strips() + 1) == form.slot_offsets);
    CHECK(test::read(device, structure.slots, static_cast<std::int64_t>(form.slots.size())) == form.slots);
    for (const int words : {1, 2}) {
      const std::vector<std::uint32_t> offsets = form.unit_offsets(words);
      CHECK(structure.units[words - 1] == offsets.back());
      CHECK(test::read(device, structure.unit_offsets[words - 1], form.strips() + 1) == offsets);
    }
    CHECK(structure.left == form.left_places.size());
    REQUIRE((structure.left_starts == nullptr) == form.left_starts.empty());
    if (!form.left_starts.empty()) {
      CHECK(test::read(device, structure.left_starts, static_cast<std::int64_t>(form.left_starts.size())) ==
            form.left_starts);
      CHECK(test::read(device, structure.left_places, static_cast<std::int64_t>(form.left_places.size())) ==
            form.left_places);
      CHECK(test::read(device, structure.left_sources, static_cast<std::int64_t>(form.left_sources.size())) ==
            form.left_sources);
    }
    REQUIRE((structure.value_places == nullptr) == form.value_places.empty());
    if (!form.value_places.empty())
      CHECK(test::read(device, structure.value_places, static_cast<std::int64_t>(form.value_places.size())) ==
            form.value_places);
  });
}

TEST_CASE(
    "packed strips are made once, count as the topology's memory, and are refused where a column is named twice") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr csr = sparse::uniform(100, 200, 0.5, seed);
  const auto topology = on.topology(csr.view());
  const std::int64_t before = topology->device_bytes();
  const PackedStructure first = topology->pointers({.packed_strips = PackedGrain::pair}).packed;
  CHECK(topology->device_bytes() >=
        before + std::int64_t{first.row_strips} * first.k_blocks * packed_header_bytes(PackedGrain::pair) +
            csr.nonzeros() * 2);
  const ops::TopologyPointers again = topology->pointers({.packed_strips = PackedGrain::pair});
  CHECK(again.packed.headers == first.headers);
  CHECK(again.row_offsets == nullptr);
  CHECK(again.column_indices == nullptr);

  const sparse::Csr repeats{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 3}};
  const auto refused = on.topology(repeats.view());
  CHECK(test::code_of([&] { refused->pointers({.packed_strips = PackedGrain::pair}); }) == ErrorCode::unsupported);
}

namespace {

/// A way to pack values.
struct Packed {
  PackedMode mode;
  Dtype element;
  bool marked = false;
};

constexpr std::array ways = {
    Packed{PackedMode::f16x1, Dtype::f16},           Packed{PackedMode::bf16x1, Dtype::bf16},
    Packed{PackedMode::f16x1, Dtype::f32},           Packed{PackedMode::bf16x1, Dtype::f32},
    Packed{PackedMode::f16x3, Dtype::f32},           Packed{PackedMode::f16x3, Dtype::f32, true},
    Packed{PackedMode::bf16x3, Dtype::f32},          Packed{PackedMode::f16_scaled, Dtype::f32},
    Packed{PackedMode::f16_scaled, Dtype::f32, true}};

/// Magnitudes of every kind, and what is no number at all.
std::vector<float> uneven_values(std::int64_t count) {
  std::vector<float> values = sparse::normal_values(count, seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 7 < 3) values[i] = std::ldexp(values[i], static_cast<int>(i * 37 % 290) - 160);
  for (std::size_t i = 50; i < values.size(); i += 61) values[i] = i % 2 == 0 ? INFINITY : NAN;
  return values;
}

/// The sets as the device packs them, in memory of ones.
std::vector<std::byte> packed_by(const test::StepDevice& on, const ops::PackStrips& what,
                                 const std::vector<std::byte>& stored) {
  device::Device& device = on.device();
  const DeviceVector<std::byte> input(device, stored);
  const DeviceVector<std::byte> packed(
      device, std::vector<std::byte>(static_cast<std::size_t>(what.sets * what.layout.set_bytes), std::byte{0xff}));
  const ops::Packing packing{.values = input.data(), .packed = packed.data()};
  ops::Launch launch = ops::pack_strips_launch<ops::Packing>(what, [](const ops::Packing& call) { return call; });
  launch.set_kernel(on.session->kernels().get(launch.request(), launch.shared_bytes())->kernel);
  launch.enqueue(device, device.own_stream(), &packing);
  return packed.read();
}

/// `set`: what a device packed.
void check_set(std::span<const std::byte> set, const ops::PackedLayout& layout, const sparse::PackedMatrix& expected) {
  const auto begin = set.begin();
  const auto scales = std::as_bytes(std::span(expected.row_scales));
  const auto data = std::as_bytes(std::span(expected.data));
  CHECK(std::equal(scales.begin(), scales.end(), begin));
  CHECK(std::equal(data.begin(), data.end(), begin + layout.data_offset_bytes));
  const auto left_over = std::as_bytes(std::span(expected.left_over));
  std::vector<LeftEntry> entries(expected.left_over.size());
  std::copy_n(begin + layout.left_offset_bytes, left_over.size(), std::as_writable_bytes(std::span(entries)).begin());
  // What a NaN carries is not kept where 16 bits become 32.
  CHECK(std::equal(entries.begin(), entries.end(), expected.left_over.begin(),
                   [](const LeftEntry& a, const LeftEntry& b) {
                     return a.place == b.place && (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
                   }));
  CHECK(layout.left_offset_bytes == layout.data_offset_bytes + static_cast<std::ptrdiff_t>(data.size()));
  const auto firsts = std::as_bytes(std::span(expected.firsts));
  const auto exact = std::as_bytes(std::span(expected.exact));
  CHECK(std::equal(firsts.begin(), firsts.end(), begin + layout.firsts_offset_bytes));
  CHECK(std::equal(exact.begin(), exact.end(), begin + layout.exact_offset_bytes));
  CHECK(layout.exact_offset_bytes == layout.left_offset_bytes + static_cast<std::ptrdiff_t>(left_over.size()));
  CHECK(layout.used_bytes == layout.exact_offset_bytes + static_cast<std::ptrdiff_t>(exact.size()));
  CHECK(std::all_of(begin + layout.used_bytes, begin + layout.set_bytes,
                    [](std::byte byte) { return byte == std::byte{0xff}; }));
}

}  // namespace

TEST_CASE("values packed on a device are the host's, bit for bit, in every mode and for every set of a batch") {
  std::size_t turn = 0;
  for_each_form([&](const test::StepDevice& on, const PackedStructure& structure, const sparse::PackedForm& form,
                    const sparse::Csr& csr) {
    for (const auto& [mode, element, marked] : ways) {
      // Thousands of strips cost most of the time: each of a device's four forms of them takes other ways of the nine.
      if (csr.cols > 10'000 && turn++ % 4 != 0) continue;
      const ops::StripKind kind{mode, form.grain, marked};
      INFO(ops::packed_format(kind) << " of " << name(element));
      const std::int64_t sets = 2, stride = csr.nonzeros() + 3;
      const std::vector<std::byte> stored =
          sparse::to_storage(element, uneven_values((sets - 1) * stride + csr.nonzeros()));
      const auto values_of = [&](std::int64_t set) {
        return std::span(stored).subspan(static_cast<std::size_t>(set * stride * size_of(element)),
                                         static_cast<std::size_t>(csr.nonzeros() * size_of(element)));
      };
      std::vector<sparse::PackedMatrix> expected;
      expected.reserve(static_cast<std::size_t>(sets));
      for (std::int64_t set = 0; set < sets; ++set)
        expected.push_back(sparse::pack(form, mode, element, values_of(set), marked));
      ops::PackStrips what{.kind = kind,
                           .keeps_exact = marked,
                           .element = element,
                           .structure = structure,
                           .layout = ops::packed_layout(kind, structure),
                           .value_stride = stride,
                           .sets = sets,
                           .multiprocessors = 3};
      const bool lie_elsewhere = structure.value_places != nullptr || csr.nonzeros() == 0;
      for (const bool placed : {false, true}) {
        if (placed && !lie_elsewhere) continue;
        INFO("placed: " << placed);
        what.placed = placed;
        const std::vector<std::byte> found = packed_by(on, what, stored);
        for (std::int64_t set = 0; set < sets; ++set)
          check_set(std::span(found).subspan(static_cast<std::size_t>(set * what.layout.set_bytes),
                                             static_cast<std::size_t>(what.layout.set_bytes)),
                    what.layout, expected[static_cast<std::size_t>(set)]);
      }
    }
  });
}
