#include "sparse/packed_strips.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <abi/packed_fours.h>

#include "error_code.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 20;
constexpr PackedGrain grains[] = {PackedGrain::pair, PackedGrain::four, PackedGrain::whole};
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<double> dense_of(const sparse::Csr& csr, const std::vector<float>& values) {
  std::vector<double> dense(static_cast<std::size_t>(csr.rows * csr.cols), 0);
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (auto i = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, csr.row_offsets[static_cast<std::size_t>(row) + 1]); ++i)
      dense[static_cast<std::size_t>(row * csr.cols + csr.column_indices[i])] = values[i];
  return dense;
}

sparse::PackedMatrix packed(const sparse::PackedForm& form, PackedMode mode, Dtype element,
                            const std::vector<float>& values) {
  return sparse::pack(form, mode, element, sparse::to_storage(element, values));
}

/// Matrices of all kinds of edges: empty, one element, past the edge of a strip, of a group of row strips, full,
/// unsorted rows.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back({.rows = 0, .cols = 0});
  list.push_back({.rows = 0, .cols = 70});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 3, 5}, .column_indices = {69, 0, 1, 64, 63}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed));
  list.push_back(sparse::uniform(257, 65, 0.5, seed + 1));
  list.push_back(sparse::uniform(100, 300, 0.9, seed + 2));
  list.push_back(sparse::power_law(64, 200, 900, 1.2, seed + 3));
  return list;
}

}  // namespace

TEST_CASE("a packed strip's places are the registers of mma.m16n8k16's A fragment, and every element has its own") {
  std::vector<int> seen(packed_lanes() * 16 * 2, 0);
  for (int row = 0; row < packed_strip_rows(); ++row)
    for (int column = 0; column < packed_strip_columns(); ++column) {
      const PackedPlace place = packed_place(row, column);
      ++seen[static_cast<std::size_t>((place.lane * 16 + place.bit) * 2 + place.half)];
      CHECK(packed_row(place.lane, place.bit) == row);
      CHECK(packed_column(place.lane, place.bit) + place.half == column);
      const int register_number = place.bit % 4, step = place.bit / 4;
      CHECK(row == place.lane / 4 + 8 * (register_number & 1));
      CHECK(column == 16 * step + 2 * (place.lane % 4) + 8 * (register_number >> 1) + place.half);
    }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_CASE(
    "four columns go to a register of mma.sp.m16n8k32's A fragment, and metadata to the lane that its selector reads") {
  for (int row = 0; row < packed_strip_rows(); ++row)
    for (int column = 0; column < packed_strip_columns(); column += 4) {
      const FourPlace place = four_place(row, column);
      CHECK(four_place(row, column + 3).lane == place.lane);
      CHECK(four_place(row, column + 3).bit == place.bit);
      CHECK(packed_row(place.lane, place.bit) == row);
      CHECK(four_column(place.lane, place.bit) == column);
      // As sparse strips have it, whose multiplications are tested on their own.
      CHECK(sparse_row(place.lane, place.bit % 4) == row);
      CHECK(sparse_column(place.lane, place.bit / 4, place.bit % 4) == column);
      CHECK(sparse_place(row, column).lane == place.lane);

      // The third and the fourth of these columns alone: what a pair takes are both, at places 2 and 3 (0xe); other
      // fours are empty, and say 0xe too.
      const unsigned long long first_two = 3ULL << column;
      const int lane = row % 8 * 4 + column / 16;
      const unsigned metadata = row < 8 ? four_metadata(lane, first_two, 0) : four_metadata(lane, 0, first_two);
      CHECK(metadata ==
            (0xeeeeeeeeU & ~(0xfU << (row / 8 * 16 + column % 16))) + (0x4U << (row / 8 * 16 + column % 16)));
    }
}

TEST_CASE(
    "a whole strip has a line of 128 bytes for each row, swizzled, and lines of low parts behind eight of high ones") {
  std::vector<int> seen(1024, 0);
  for (int row = 0; row < packed_strip_rows(); ++row)
    for (int column = 0; column < packed_strip_columns(); ++column) {
      const unsigned number = packed_whole_number(row, column);
      ++seen[number];
      const unsigned byte = number * 2;
      CHECK(byte / 128 == static_cast<unsigned>(row));
      CHECK(byte % 128 / 16 == static_cast<unsigned>(column / 8 ^ row % 8));
      CHECK(byte % 16 == static_cast<unsigned>(column % 8 * 2));
      CHECK(packed_word(PackedGrain::whole, number / 2, 0, 1) * 4 == byte / 4 * 4);
      for (const int term : {0, 1})
        CHECK(packed_word(PackedGrain::whole, number / 2, term, 2) * 4 ==
              static_cast<unsigned>(row / 8 * 2048 + term * 1024) + byte % 1024 / 4 * 4);
    }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_CASE("of every four columns the third nonzero and the fourth are left over, and no others") {
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 300; ++i) {
    std::uint64_t names = random.bits();
    for (int times = i % 4; times > 0; --times) names &= random.bits();
    std::uint64_t left = 0;
    for (int first = 0; first < 64; first += 4)
      for (int column = first, found = 0; column < first + 4; ++column)
        if ((names >> column & 1) != 0 && ++found > 2) left |= std::uint64_t{1} << column;
    CHECK(fours_left(names) == left);
  }
}

TEST_CASE("packed fours hold every nonzero once, in a pair or among what is left over, row by row") {
  INFO("seed " << seed);
  for (const sparse::Csr& csr : matrices()) {
    INFO(csr.rows << " x " << csr.cols);
    const sparse::PackedForm form = sparse::packed_form(csr, {}, PackedGrain::four);
    std::vector<std::int32_t> sources = form.left_sources;
    std::copy_if(form.sources.begin(), form.sources.end(), std::back_inserter(sources),
                 [](std::int32_t source) { return source >= 0; });
    std::sort(sources.begin(), sources.end());
    std::vector<std::int32_t> all(static_cast<std::size_t>(csr.nonzeros()));
    std::iota(all.begin(), all.end(), 0);
    CHECK(sources == all);
    CHECK(std::cmp_equal(form.left_starts.size(), form.row_strips * packed_strip_rows() + 1));
    CHECK(form.left_starts.back() == form.left_sources.size());
    for (std::size_t row = 0; row + 1 < form.left_starts.size(); ++row)
      for (std::size_t i = form.left_starts[row]; i < form.left_starts[row + 1]; ++i) {
        const auto source = static_cast<std::size_t>(form.left_sources[i]);
        CHECK(packed_left_row(form.left_places[i]) == row % packed_strip_rows());
        CHECK(std::cmp_equal(packed_left_column(form.left_places[i]), csr.column_indices[source]));
        CHECK(std::cmp_greater_equal(source, csr.row_offsets[row]));
        CHECK(std::cmp_less(source, csr.row_offsets[row + 1]));
      }
  }
}

TEST_CASE("packed strips hold every nonzero once, start behind one another and are padded with zeros") {
  INFO("seed " << seed);
  for (const sparse::Csr& csr : matrices()) {
    INFO(csr.rows << " x " << csr.cols);
    const sparse::PackedForm form = sparse::packed_form(csr);
    CHECK(form.row_strips % packed_row_strip_multiple() == 0);
    CHECK(form.row_strips * packed_strip_rows() >= csr.rows);
    CHECK(std::cmp_equal(form.pair_offsets.size(), form.strips() + 1));
    std::vector<std::int32_t> sources;
    std::copy_if(form.sources.begin(), form.sources.end(), std::back_inserter(sources),
                 [](std::int32_t source) { return source >= 0; });
    std::sort(sources.begin(), sources.end());
    std::vector<std::int32_t> all(static_cast<std::size_t>(csr.nonzeros()));
    std::iota(all.begin(), all.end(), 0);
    CHECK(sources == all);

    for (const PackedMode mode : {PackedMode::f16x1, PackedMode::f16x3}) {
      const std::vector<std::uint32_t> offsets = form.unit_offsets(packed_pair_words(mode));
      const sparse::PackedMatrix matrix =
          packed(form, mode, Dtype::f32, std::vector<float>(static_cast<std::size_t>(csr.nonzeros()), 1));
      CHECK(matrix.data.size() * 4 == std::size_t{offsets.back()} * packed_unit_bytes());
      CHECK(std::cmp_equal(matrix.row_scales.size(),
                           mode == PackedMode::f16x3 ? form.row_strips * packed_strip_rows() : 0));
      for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip) {
        const std::size_t pairs = form.pair_offsets[strip + 1] - form.pair_offsets[strip];
        CHECK(packed_start(matrix.data[offsets[strip] * 4 + 31]) <= pairs);
        const std::size_t used = offsets[strip] * std::size_t{4} + packed_lanes() +
                                 pairs * static_cast<std::size_t>(packed_pair_words(mode));
        for (std::size_t word = used; word < offsets[strip + 1] * std::size_t{4}; ++word) CHECK(matrix.data[word] == 0);
      }
    }
  }
}

TEST_CASE("what was packed in 16 bits unpacks to the same matrix, explicit zeros and non-finite values included") {
  INFO("seed " << seed);
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    for (const sparse::Csr& csr : matrices()) {
      INFO(csr.rows << " x " << csr.cols);
      std::vector<float> values = sparse::normal_values(csr.nonzeros(), seed);
      for (float& value : values) value = sparse::round_to(element, value);
      if (values.size() > 3) {
        values[0] = 0;
        values[1] = infinity;
        values[2] = -0.0F;
      }
      const PackedMode mode = element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1;
      for (const PackedGrain grain : grains) {
        const sparse::PackedForm form = sparse::packed_form(csr, {}, grain);
        CHECK(sparse::unpack(form, packed(form, mode, element, values)) == dense_of(csr, values));
      }
    }
  }
}

TEST_CASE("16-bit values are packed bit for bit, also what a NaN carries") {
  const sparse::Csr csr{.rows = 1, .cols = 3, .row_offsets = {0, 3}, .column_indices = {0, 1, 2}};
  const std::vector<std::uint16_t> bits = {0x7e11, 0xfd01, 0x8000};
  const sparse::PackedForm form = sparse::packed_form(csr);
  const sparse::PackedMatrix matrix = sparse::pack(form, PackedMode::f16x1, Dtype::f16, std::as_bytes(std::span(bits)));
  CHECK(matrix.data[packed_lanes()] == 0xfd017e11U);
  CHECK(matrix.data[packed_lanes() + 1] == 0x00008000U);
}

TEST_CASE("two terms hold f32 to 2^-22 of the row's largest value, over all magnitudes") {
  INFO("seed " << seed);
  for (const float magnitude : {1e-42F, 1e-30F, 1e-5F, 1.0F, 1e20F, 1e38F}) {
    INFO("magnitude " << magnitude);
    const sparse::Csr csr = sparse::uniform(40, 150, 0.6, seed);
    std::vector<float> values = sparse::normal_values(csr.nonzeros(), seed);
    for (float& value : values) value *= magnitude / 4;
    const sparse::PackedForm form = sparse::packed_form(csr, {}, magnitude < 1 ? PackedGrain::four : PackedGrain::pair);
    const std::vector<double> wanted = dense_of(csr, values);
    const std::vector<double> found = sparse::unpack(form, packed(form, PackedMode::f16x3, Dtype::f32, values));
    const std::vector<double> unscaled = sparse::unpack(form, packed(form, PackedMode::bf16x3, Dtype::f32, values));
    for (std::size_t row = 0; row < 40; ++row) {
      double largest = 0;
      for (std::size_t i = row * 150; i < (row + 1) * 150; ++i) largest = std::max(largest, std::fabs(wanted[i]));
      for (std::size_t i = row * 150; i < (row + 1) * 150; ++i) {
        CHECK(std::fabs(found[i] - wanted[i]) <= std::ldexp(std::fabs(wanted[i]), -22) + std::ldexp(largest, -38));
        CHECK(std::fabs(unscaled[i] - wanted[i]) <= std::ldexp(std::fabs(wanted[i]), -16) + std::ldexp(1.0, -133));
      }
    }
  }
}

TEST_CASE(
    "a row's scale brings its largest finite value to [2^13, 2^14), is 1 for a row of zeros and stays normal for the "
    "smallest") {
  const sparse::Csr csr{
      .rows = 5, .cols = 4, .row_offsets = {0, 3, 4, 5, 6, 9}, .column_indices = {0, 1, 2, 3, 0, 1, 0, 1, 2}};
  const std::vector<float> values = {
      3, -5, infinity, 0, infinity, 0x1p-149F, std::numeric_limits<float>::max(), 1, std::nanf("")};
  for (const PackedGrain grain : grains) {
    const sparse::PackedForm form = sparse::packed_form(csr, {}, grain);
    const sparse::PackedMatrix matrix = packed(form, PackedMode::f16x3, Dtype::f32, values);
    CHECK(5 / matrix.row_scales[0] >= 8192);
    CHECK(5 / matrix.row_scales[0] < 16384);
    CHECK(matrix.row_scales[1] == 1);
    CHECK(matrix.row_scales[2] == 1);
    CHECK(matrix.row_scales[3] == 0x1p-126F);
    CHECK(std::numeric_limits<float>::max() / matrix.row_scales[4] < 16384);
    CHECK(matrix.row_scales[5] == 1);
    const std::vector<double> dense = sparse::unpack(form, matrix);
    CHECK(dense[1] == -5);
    CHECK(dense[2] == infinity);  // hi alone: lo is 0
    CHECK(dense[2 * 4] == infinity);
    CHECK(dense[3 * 4 + 1] == 0x1p-149);
    CHECK(std::isnan(dense[4 * 4 + 2]));
  }
}

TEST_CASE("a transpose is packed from values in the order of the matrix itself") {
  INFO("seed " << seed);
  const sparse::Csr csr = sparse::uniform(70, 90, 0.7, seed);
  const std::vector<float> values = sparse::normal_values(csr.nonzeros(), seed);
  const sparse::Transposed transposed = sparse::transpose(csr);
  const std::vector<double> wanted = dense_of(csr, values);
  for (const PackedGrain grain : grains) {
    const sparse::PackedForm form = sparse::packed_form(transposed.csr, transposed.value_positions, grain);
    const std::vector<double> found = sparse::unpack(form, packed(form, PackedMode::f16x3, Dtype::f32, values));
    for (std::size_t row = 0; row < 70; ++row)
      for (std::size_t column = 0; column < 90; ++column)
        CHECK(std::fabs(found[column * 70 + row] - wanted[row * 90 + column]) <= 1e-6);
  }
}

TEST_CASE("a column named twice is refused, with row and column") {
  const sparse::Csr csr{.rows = 2, .cols = 9, .row_offsets = {0, 1, 3}, .column_indices = {0, 8, 8}};
  std::string message;
  CHECK(test::code_of([&] { sparse::packed_form(csr); }, &message) == ErrorCode::unsupported);
  CHECK_MESSAGE(message.find("row 1 names column 8 twice") != std::string::npos, message);
}
