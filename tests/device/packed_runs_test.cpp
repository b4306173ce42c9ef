// Packed runs made on the device against the host's, bit for bit, in several thread orders: the structure, and the
// values in it.
#include <doctest/doctest.h>

#include <algorithm>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "error_code.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/packed_runs.hpp"
#include "plan/packed.hpp"
#include "plan/packed_file.hpp"
#include "sparse/elements.hpp"
#include "sparse/packed_runs.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;
using test::DeviceVector;

namespace {

constexpr std::uint64_t seed = 43;

/// Sorted matrices without repeats, of both directions few enough escapes: no nonzeros, one element, full and empty
/// rows, indices in both widths, gaps past every code.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back(sparse::uniform(300, 333, 0.8, seed));
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed + 1));
  list.push_back(test::uneven_mask(257, 65, seed + 2));
  list.push_back(sparse::uniform(60, 1500, 0.94, seed + 3));
  list.push_back({.rows = 0, .cols = 9});
  return test::affordable(std::move(list), 2);
}

/// Both directions of every matrix and both widths of gaps, on every device: check(device, the topology's pointers, the
/// host's form, matrix).
template <class Check>
void for_each_form(const Check& check) {
  INFO("seed " << seed);
  int forms = 0;
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& csr : matrices())
      for (const bool transposed : {false, true}) {
        const auto topology = on.topology(csr.view());
        const sparse::Transposed turned = sparse::transpose(csr);
        for (const int gap_bits : {4, 8}) {
          INFO(on.on.name << ": " << csr.rows << " x " << csr.cols << ", " << csr.nonzeros() << " nonzeros, gaps of "
                          << gap_bits << " bits" << (transposed ? ", transposed" : ""));
          if (ops::packed_runs_declined(topology->statistics(transposed), gap_bits)) continue;
          const auto form = transposed ? sparse::packed_runs(turned.csr, gap_bits, turned.value_positions)
                                       : sparse::packed_runs(csr, gap_bits);
          check(on, topology->pointers({.transposed = transposed, .run_gap_bits = gap_bits}), form, csr);
          ++forms;
        }
      }
  CHECK(forms > 5);
}

}  // namespace

TEST_CASE("the structure of packed runs made on a device is the host's, bit for bit") {
  for_each_form([](const test::StepDevice& on, const ops::TopologyPointers& topology, const sparse::RunForm& form,
                   const sparse::Csr&) {
    device::Device& device = on.device();
    const PackedRuns& runs = topology.runs;
    CHECK(runs.gap_bits == form.gap_bits);
    CHECK(std::int64_t{runs.runs} == form.runs());
    CHECK(std::int64_t{runs.groups} == form.groups());
    CHECK(test::read(device, runs.row_runs, form.row_runs.size()) == form.row_runs);
    CHECK(test::read(device, reinterpret_cast<const std::uint16_t*>(runs.starts), form.starts.size()) == form.starts);
    CHECK(test::read(device, reinterpret_cast<const std::uint8_t*>(runs.counts), form.counts.size()) == form.counts);
    CHECK(test::read(device, runs.codes, form.codes.size()) == form.codes);
    CHECK(test::read(device, runs.firsts, form.firsts.size()) == form.firsts);
    CHECK(test::read(device, runs.positions, form.positions.size()) == form.positions);
  });
}

TEST_CASE("values packed into runs on a device are the host's, bit for bit, for every set of a batch") {
  for_each_form([](const test::StepDevice& on, const ops::TopologyPointers& topology, const sparse::RunForm& form,
                   const sparse::Csr& csr) {
    device::Device& device = on.device();
    for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      INFO(name(element));
      const std::int64_t sets = 2, stride = csr.nonzeros() + 3;
      const std::vector<std::byte> stored =
          sparse::to_storage(element, sparse::normal_values((sets - 1) * stride + csr.nonzeros(), seed));
      const DeviceVector<std::byte> input(device, stored);
      const ops::PackedFormat& format = *ops::find_packed_format(ops::runs_format(form.gap_bits, element));
      const auto set_bytes = static_cast<std::size_t>(format.set_bytes(topology));
      CHECK(format.used_bytes(topology) == format.set_bytes(topology));
      const DeviceVector<std::byte> packed(
          device, std::vector<std::byte>(static_cast<std::size_t>(sets) * set_bytes, std::byte{0xff}));
      ops::Launch launch =
          format.pack_launch({.topology = topology, .element = element, .value_stride = stride, .sets = sets});
      launch.set_kernel(on.session->kernels().get(launch.request(), launch.shared_bytes())->kernel);
      const ops::Packing packing{.values = input.data(), .packed = packed.data()};
      launch.enqueue(device, device.own_stream(), &packing);
      const std::vector<std::byte> found = packed.read();
      for (std::int64_t set = 0; set < sets; ++set) {
        const auto bytes = std::span(stored).subspan(static_cast<std::size_t>(set * stride * size_of(element)),
                                                     static_cast<std::size_t>(csr.nonzeros() * size_of(element)));
        const std::vector<std::byte> expected = sparse::pack(form, element, bytes);
        REQUIRE(expected.size() == set_bytes);
        CHECK(
            std::equal(expected.begin(), expected.end(), found.begin() + set * static_cast<std::ptrdiff_t>(set_bytes)));
      }
    }
  });
}

TEST_CASE(
    "packed runs are made once for each width of gaps, count as the topology's memory, and are refused where rows are "
    "not sorted") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr csr = sparse::uniform(100, 200, 0.5, seed);
  const auto topology = on.topology(csr.view());
  const std::int64_t before = topology->device_bytes();
  const ops::TopologyPointers first = topology->pointers({.run_gap_bits = 4});
  CHECK(topology->device_bytes() >= before + csr.nonzeros() / 2);
  CHECK(first.row_offsets == nullptr);
  CHECK(topology->pointers({.run_gap_bits = 4}).runs.codes == first.runs.codes);
  CHECK(topology->pointers({.run_gap_bits = 8}).runs.codes != first.runs.codes);
  CHECK(first.runs.positions == nullptr);
  topology->release_source();
  CHECK(topology->pointers({.run_gap_bits = 4}).runs.codes == first.runs.codes);
  CHECK(test::code_of([&] { topology->pointers({.transposed = true, .run_gap_bits = 4}); }) ==
        ErrorCode::invalid_argument);

  const sparse::Csr unsorted{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 1}};
  const auto refused = on.topology(unsorted.view());
  CHECK(test::code_of([&] { refused->pointers({.run_gap_bits = 4}); }) == ErrorCode::unsupported);
}

TEST_CASE("values packed into runs are saved and loaded, and only for the topology that they were packed for") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr csr = sparse::uniform(70, 300, 0.9, seed);
  const Topology topology(on.topology(csr.view())), other(on.topology(sparse::uniform(70, 300, 0.9, seed + 1).view()));
  const DeviceVector<std::byte> values(on.device(),
                                       sparse::to_storage(Dtype::f16, sparse::normal_values(2 * csr.nonzeros(), seed)));
  for (const char* const format : {"runs32/gap8/f16", "runs32/gap4/f16/transposed"}) {
    auto kind = plan::PackedKind::parse(format);
    REQUIRE(kind);
    kind->sets = 2;
    const PackedValues packed = plan::pack(
        topology, *kind, {.values = values.data(), .element = Dtype::f16, .stride = csr.nonzeros()}, nullptr);
    CHECK(packed.format() == format);
    CHECK(packed.bytes() == plan::packed_bytes(topology, *kind));
    const std::vector<std::byte> saved = packed.save();
    CHECK(plan::load_packed(topology, saved, "weights").save() == saved);
    CHECK(test::code_of([&] { plan::load_packed(other, saved, "weights"); }) == ErrorCode::format_mismatch);
  }
}
