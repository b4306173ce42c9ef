#include "sparse/packed_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 61;

/// Matrices with gaps of all kinds: empty, one element, full, rows that end runs, gaps that are multiples of escapes.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back({.rows = 0, .cols = 0});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2,
                  .cols = 65536,
                  .row_offsets = {0, 7, 9},
                  .column_indices = {0, 14, 29, 44, 60, 315, 65535, 510, 65535}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed));
  list.push_back(sparse::uniform(40, 32, 0.0, seed));
  for (const double sparsity : {0.5, 0.7, 0.9, 0.97}) list.push_back(sparse::uniform(100, 700, sparsity, seed + 1));
  list.push_back(sparse::power_law(64, 2000, 900, 1.2, seed + 2));
  return list;
}

std::vector<double> dense_of(const sparse::Csr& csr, const std::vector<float>& values) {
  std::vector<double> dense(static_cast<std::size_t>(csr.rows * csr.cols), 0);
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (auto i = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, csr.row_offsets[static_cast<std::size_t>(row) + 1]); ++i)
      dense[static_cast<std::size_t>(row * csr.cols + csr.column_indices[i])] = static_cast<double>(values[i]);
  return dense;
}

}  // namespace

TEST_CASE("every slot of a group has a code of its own, and every piece of values a place of its own") {
  for (const int gap_bits : {4, 8}) {
    std::set<std::pair<long long, int>> seen;
    for (int run = 0; run < 2 * group_runs(); ++run)
      for (int slot = 0; slot < run_slots(); ++slot) {
        const RunCodePlace place = run_code_place(run, slot, gap_bits);
        CHECK(place.shift % gap_bits == 0);
        CHECK(place.word < (run < group_runs() ? 1 : 2) * group_runs() * run_slots() * gap_bits / 32);
        seen.insert({place.word, place.shift});
      }
    CHECK(seen.size() == 2 * group_runs() * run_slots());
  }
  for (const int element_bytes : {2, 4}) {
    std::set<long long> seen;
    for (int run = 0; run < 2 * group_runs(); ++run)
      for (int piece = 0; piece < value_pieces(element_bytes); ++piece)
        seen.insert(run_piece_place(run, piece, element_bytes) * element_bytes);
    CHECK(seen.size() == static_cast<std::size_t>(2 * group_runs() * value_pieces(element_bytes)));
    CHECK(*seen.rbegin() == 2 * group_runs() * run_slots() * element_bytes - run_piece_bytes());
  }
}

TEST_CASE("packed runs give back every element, whatever the gaps, also of a transpose") {
  INFO("seed " << seed);
  for (const sparse::Csr& csr : matrices())
    for (const int gap_bits : {4, 8})
      for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        const std::vector<std::byte> stored =
            sparse::to_storage(element, sparse::normal_values(csr.nonzeros(), seed + 3));
        const std::vector<float> values = sparse::from_storage(element, stored);
        const sparse::RunForm form = sparse::packed_runs(csr, gap_bits);
        CHECK(sparse::unpack(form, csr.cols, element, sparse::pack(form, element, stored)) == dense_of(csr, values));
        if (csr.cols > 4000) continue;
        const sparse::Transposed transposed = sparse::transpose(csr);
        std::vector<float> moved;
        for (const std::int32_t position : transposed.value_positions)
          moved.push_back(values[static_cast<std::size_t>(position)]);
        const sparse::RunForm back = sparse::packed_runs(transposed.csr, gap_bits, transposed.value_positions);
        CHECK(sparse::unpack(back, csr.rows, element, sparse::pack(back, element, stored)) ==
              dense_of(transposed.csr, moved));
      }
}
