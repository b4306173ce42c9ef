// Sparse strips made on the device against the host's, bit for bit, in several thread orders: the structure, and the
// values in it.
#include <doctest/doctest.h>

#include <algorithm>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "ops/topology/pack_sparse.hpp"
#include "ops/topology/sparse_form.hpp"
#include "sparse/sparse_strips.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;
using test::DeviceVector;

namespace {

constexpr std::uint64_t seed = 43;

/// Matrices without repeats: no rows, no columns, no nonzeros, past the edges of strips and of groups of row strips,
/// empty and full rows, columns in no order.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back(sparse::uniform(300, 133, 0.8, seed));
  list.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 3, 5}, .column_indices = {69, 0, 1, 64, 63}});
  list.push_back({.rows = 0, .cols = 9});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed + 1));
  list.push_back(test::uneven_mask(257, 65, seed + 2));
  list.push_back(sparse::uniform(270, 200, 0.97, seed + 3));
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

/// A matrix's structure in device memory, every byte of it made by the device.
class DeviceForm {
 public:
  DeviceForm(const test::StepDevice& on, const Walked& matrix)
      : strips_(static_cast<std::size_t>(packed_row_strips(matrix.csr.rows) * packed_k_blocks(matrix.csr.cols))),
        groups_(on.device(), strips_ * packed_lanes()),
        headers_(on.device(), strips_),
        nonzero_offsets_(on.device(), strips_ + 1),
        unit_offsets_(on.device(), strips_ + 1),
        sources_(on.device(), static_cast<std::size_t>(matrix.csr.nonzeros())) {
    const IndexType index = matrix.value_positions.empty() ? IndexType::u16 : IndexType::i32;
    const test::DeviceCsr csr(on.device(), matrix.csr, index);
    const DeviceVector<std::int32_t> positions(on.device(), matrix.value_positions);
    ops::make_sparse_form(
        on.queue(),
        {.csr = csr.arrays(), .value_positions = matrix.value_positions.empty() ? nullptr : positions.data()},
        {.groups = groups_.data(),
         .headers = headers_.data(),
         .nonzero_offsets = nonzero_offsets_.data(),
         .unit_offsets = unit_offsets_.data(),
         .sources = sources_.data()});
    on.device().synchronize(on.device().own_stream());
    structure_ = {.groups = groups_.data(),
                  .headers = headers_.data(),
                  .nonzero_offsets = nonzero_offsets_.data(),
                  .unit_offsets = unit_offsets_.data(),
                  .sources = sources_.data(),
                  .row_strips = static_cast<unsigned>(packed_row_strips(matrix.csr.rows)),
                  .k_blocks = static_cast<unsigned>(packed_k_blocks(matrix.csr.cols)),
                  .units = unit_offsets_.read().back()};
  }
  const SparseStructure& structure() const { return structure_; }
  void require_equal(const sparse::SparseForm& form) const {
    CHECK(std::int64_t{structure_.row_strips} == form.row_strips);
    CHECK(std::int64_t{structure_.k_blocks} == form.k_blocks);
    CHECK(groups_.read() == form.groups);
    CHECK(headers_.read() == form.headers);
    CHECK(nonzero_offsets_.read() == form.nonzero_offsets);
    CHECK(unit_offsets_.read() == form.unit_offsets);
    CHECK(sources_.read() == form.sources);
  }

 private:
  std::size_t strips_;
  DeviceVector<std::uint32_t> groups_, headers_, nonzero_offsets_, unit_offsets_;
  DeviceVector<std::int32_t> sources_;
  SparseStructure structure_ = {};
};

std::vector<std::byte> packed_on_device(const test::StepDevice& on, const ops::PackSparse& what,
                                        const std::vector<std::uint16_t>& values) {
  device::Device& device = on.device();
  const DeviceVector<std::uint16_t> input(device, values);
  const DeviceVector<std::byte> packed(
      device, std::vector<std::byte>(static_cast<std::size_t>(what.sets * what.set_bytes), std::byte{0xff}));
  const ops::Packing packing{.values = input.data(), .packed = packed.data()};
  ops::Launch launch = ops::pack_sparse_launch<ops::Packing>(what, [](const ops::Packing& call) { return call; });
  launch.set_kernel(on.session->kernels().get(launch.request(), launch.shared_bytes())->kernel);
  launch.enqueue(device, device.own_stream(), &packing);
  return packed.read();
}

}  // namespace

TEST_CASE("sparse strips made on a device, and values packed there, are the host's, bit for bit") {
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& csr : matrices())
      for (const bool transposed : {false, true}) {
        INFO(on.on.name << ": " << csr.rows << " x " << csr.cols << ", " << csr.nonzeros() << " nonzeros"
                        << (transposed ? ", transposed" : ""));
        const Walked matrix = walked(csr, transposed);
        const sparse::SparseForm form = sparse::sparse_form(matrix.csr, matrix.value_positions);
        const DeviceForm on_device(on, matrix);
        on_device.require_equal(form);

        // Every bit of a value is kept: a NaN's as well.
        const std::int64_t sets = 1 + random.below(3);
        const std::int64_t stride = csr.nonzeros() + random.below(4);
        std::vector<std::uint16_t> values(static_cast<std::size_t>(sets * stride));
        for (std::uint16_t& value : values) value = static_cast<std::uint16_t>(random.bits());
        const ops::PackSparse what = {.structure = on_device.structure(),
                                      .set_bytes = ops::sparse_set_bytes(on_device.structure()) + 256,
                                      .value_stride = stride,
                                      .sets = sets,
                                      .multiprocessors = 3};
        CHECK(what.set_bytes <=
              ops::sparse_set_bytes_bound(sparse::statistics(matrix.csr.rows, matrix.csr.cols, matrix.csr.row_offsets,
                                                             matrix.csr.column_indices)) +
                  256);
        const std::vector<std::byte> found = packed_on_device(on, what, values);
        for (std::int64_t set = 0; set < sets; ++set) {
          const auto own =
              std::as_bytes(std::span(values))
                  .subspan(static_cast<std::size_t>(set * stride * 2), static_cast<std::size_t>(csr.nonzeros() * 2));
          const std::vector<std::uint32_t> expected = sparse::pack(form, own);
          const auto bytes = std::as_bytes(std::span(expected));
          const auto begin = found.begin() + set * what.set_bytes;
          CHECK(std::equal(bytes.begin(), bytes.end(), begin));
          CHECK(std::all_of(begin + static_cast<std::ptrdiff_t>(bytes.size()), begin + what.set_bytes,
                            [](std::byte byte) { return byte == std::byte{0xff}; }));
        }
      }
}
