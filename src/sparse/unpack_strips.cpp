// Packed strips back to a dense matrix.
#include <array>
#include <cstring>

#include "sparse/elements.hpp"
#include "sparse/packed_pairs.hpp"

namespace vostok::sparse {

namespace {

float to_float(PackedMode mode, std::uint32_t word, std::size_t half) {
  const auto bits = static_cast<std::uint16_t>(word >> 16 * half);
  std::array<std::byte, 2> bytes;
  std::memcpy(bytes.data(), &bits, sizeof bits);
  return from_storage(packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16, bytes).front();
}

}  // namespace

std::vector<double> unpack(const PackedForm& form, const PackedMatrix& packed) {
  std::vector<double> dense(static_cast<std::size_t>(form.rows * form.cols), 0);
  const int words = packed_pair_words(packed.mode);
  const std::vector<std::uint32_t> offsets = form.unit_offsets(packed_pair_words(packed.mode));
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    const std::size_t first = std::size_t{offsets[static_cast<std::size_t>(strip)]} * 4;
    for_each_pair(form, strip, headers_of(form, packed.data, first),
                  [&](std::int64_t row, const auto& columns, std::size_t pair) {
                    for (std::size_t half = 0; half < 2; ++half) {
                      double value = 0;
                      for (int term = 0; term < words; ++term)
                        value +=
                            to_float(packed.mode,
                                     packed.data[first + static_cast<std::size_t>(packed_header_words(form.grain)) +
                                                 packed_word(form.grain, static_cast<unsigned>(pair), term, words)],
                                     half);
                      if (!packed.row_scales.empty())
                        value *= packed_unmarked(packed.row_scales[static_cast<std::size_t>(row)]);
                      // A missing partner may lie past the last column, as it may not past the last row.
                      if (columns[half] < form.cols)
                        dense[static_cast<std::size_t>(row * form.cols + columns[half])] = value;
                    }
                  });
  }
  for (std::size_t row = 0; row + 1 < form.left_starts.size(); ++row)
    for (std::size_t i = form.left_starts[row]; i < form.left_starts[row + 1]; ++i)
      dense[row * static_cast<std::size_t>(form.cols) + packed_left_column(packed.left_over[i].place)] =
          packed.left_over[i].value;
  return dense;
}

}  // namespace vostok::sparse
