#include "sparse/packed_strips.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "sparse/elements.hpp"

namespace vostok::sparse {

namespace {

constexpr std::int32_t absent = -1;

/// Where an element of the matrix goes.
struct Slot {
  std::size_t header;  ///< index of its lane's header word
  unsigned bit;
  std::size_t half;
};

Slot slot_of(const PackedForm& form, std::int64_t row, std::int64_t column) {
  const PackedPlace place = packed_place(static_cast<int>(row % packed_strip_rows), static_cast<int>(column % packed_strip_columns));
  const std::int64_t strip = column / packed_strip_columns * form.row_strips + row / packed_strip_rows;
  return {static_cast<std::size_t>(strip * packed_lanes + place.lane), static_cast<unsigned>(place.bit), static_cast<std::size_t>(place.half)};
}

template <class Visit>
void for_each_nonzero(const Csr& csr, const Visit& visit) {
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (std::int64_t i = csr.row_offsets[static_cast<std::size_t>(row)]; i < csr.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      visit(row, csr.column_indices[static_cast<std::size_t>(i)], i);
}

/// visit(row, lower column, number of the pair, its place in the strip) for every pair of a strip whose headers are given.
template <class Visit>
void for_each_pair(const PackedForm& form, std::int64_t strip, std::span<const std::uint32_t> headers, const Visit& visit) {
  for (int lane = 0; lane < packed_lanes; ++lane) {
    const unsigned header = headers[static_cast<std::size_t>(lane)];
    std::int64_t pair = packed_start(header);
    for (unsigned mask = packed_mask(header); mask != 0; mask &= mask - 1) {
      const int bit = std::countr_zero(mask);
      visit(strip % form.row_strips * packed_strip_rows + packed_row(lane, bit),
            strip / form.row_strips * packed_strip_columns + packed_column(lane, bit), static_cast<std::size_t>(pair++));
    }
  }
}

std::span<const std::uint32_t> headers_of(std::span<const std::uint32_t> words, std::size_t first) { return words.subspan(first, packed_lanes); }

/// Starts of the lanes and of the strips, from the masks.
void count_pairs(PackedForm& form) {
  std::uint32_t total = 0;
  form.pair_offsets.assign(1, 0);
  for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip) {
    unsigned pairs = 0;
    for (std::size_t lane = 0; lane < packed_lanes; ++lane) {
      std::uint32_t& header = form.headers[strip * packed_lanes + lane];
      const unsigned mask = header;
      header = packed_header(mask, pairs);
      pairs += static_cast<unsigned>(std::popcount(mask));
    }
    form.pair_offsets.push_back(total += pairs);
  }
}

/// The pair that an element belongs to, in its strip.
std::uint32_t pair_of(const PackedForm& form, const Slot& slot) {
  const std::uint32_t header = form.headers[slot.header];
  return packed_start(header) + static_cast<std::uint32_t>(std::popcount(packed_mask(header) & ((1U << slot.bit) - 1)));
}

/// The nonzeros of each row by ascending column.
std::vector<std::int64_t> numbered(const Csr& csr) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(csr.nonzeros()));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t row = 0; std::cmp_less(row, csr.rows); ++row)
    std::sort(numbers.begin() + csr.row_offsets[row], numbers.begin() + csr.row_offsets[row + 1], [&](std::int64_t a, std::int64_t b) {
      return csr.column_indices[static_cast<std::size_t>(a)] < csr.column_indices[static_cast<std::size_t>(b)];
    });
  return numbers;
}

/// What finds the value of a nonzero and its slot, from the headers: see PackedStructure.
void place_nonzeros(PackedForm& form, const Csr& csr, std::span<const std::int32_t> value_positions) {
  struct Placed {
    std::int64_t strip, row;
    std::uint16_t slot;
  };
  const std::vector<std::int64_t> numbers = numbered(csr);
  std::vector<Placed> placed;
  std::vector<std::int32_t> next;  // of each row: the number of its next nonzero
  for (std::int64_t row = 0; row < form.row_strips * packed_strip_rows; ++row) {
    const auto offset = [&](std::int64_t r) { return r < csr.rows ? csr.row_offsets[static_cast<std::size_t>(r)] : csr.nonzeros(); };
    next.push_back(static_cast<std::int32_t>(offset(row)));
    for (std::int64_t number = offset(row); number < offset(row + 1); ++number) {
      const std::int64_t column = csr.column_indices[static_cast<std::size_t>(numbers[static_cast<std::size_t>(number)])];
      const Slot slot = slot_of(form, row, column);
      const unsigned code = packed_slot(static_cast<int>(row % packed_strip_rows), pair_of(form, slot), static_cast<int>(slot.half));
      placed.push_back({static_cast<std::int64_t>(slot.header) / packed_lanes, row, static_cast<std::uint16_t>(code)});
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.strip < b.strip; });

  std::size_t at = 0;
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    form.slot_offsets.push_back(static_cast<std::uint32_t>(form.slots.size()));
    for (std::int64_t row = strip % form.row_strips * packed_strip_rows, end = row + packed_strip_rows; row < end; ++row) {
      std::int32_t& number = next[static_cast<std::size_t>(row)];
      form.row_starts.push_back(number);
      for (; at < placed.size() && placed[at].strip == strip && placed[at].row == row; ++at, ++number) form.slots.push_back(placed[at].slot);
    }
    form.slots.resize(packed_strip_slots(static_cast<unsigned>(form.slots.size())), 0);
  }
  form.slot_offsets.push_back(static_cast<std::uint32_t>(form.slots.size()));
  form.row_starts.insert(form.row_starts.end(), next.begin(), next.end());

  if (value_positions.empty() && std::is_sorted(numbers.begin(), numbers.end())) return;
  for (const std::int64_t number : numbers)
    form.value_places.push_back(value_positions.empty() ? static_cast<std::int32_t>(number) : value_positions[static_cast<std::size_t>(number)]);
}

/// s of each row.
std::vector<float> scales_of(const PackedForm& form, std::span<const float> values) {
  std::vector<std::uint32_t> largest(static_cast<std::size_t>(form.row_strips * packed_strip_rows), 0);
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    const auto first = form.pair_offsets[static_cast<std::size_t>(strip)];
    for_each_pair(form, strip, headers_of(form.headers, static_cast<std::size_t>(strip) * packed_lanes),
                  [&](std::int64_t row, std::int64_t, std::size_t pair) {
                    for (const std::size_t half : {0, 1}) {
                      const std::int32_t source = form.sources[2 * (first + pair) + half];
                      if (source == absent || !std::isfinite(values[static_cast<std::size_t>(source)])) continue;
                      std::uint32_t& most = largest[static_cast<std::size_t>(row)];
                      most = std::max(most, std::bit_cast<std::uint32_t>(std::fabs(values[static_cast<std::size_t>(source)])));
                    }
                  });
  }
  std::vector<float> scales;
  scales.reserve(largest.size());
  for (const std::uint32_t bits : largest) scales.push_back(std::bit_cast<float>(packed_power_bits(packed_scale_exponent(bits))));
  return scales;
}

/// The 16 bits of each float.
std::vector<std::uint16_t> rounded(Dtype type, const std::vector<float>& values) {
  const std::vector<std::byte> bytes = to_storage(type, values);
  std::vector<std::uint16_t> bits(values.size());
  if (!bytes.empty()) std::memcpy(bits.data(), bytes.data(), bytes.size());
  return bits;
}

/// What is left of a scaled value when its rounded form is taken away.
float rest(float value, float high) { return std::isfinite(high) ? value - high : 0; }

/// The 16-bit terms of every pair's two values: [pairs][term][half].
std::vector<std::uint16_t> terms_of(const PackedForm& form, PackedMode mode, Dtype element, std::span<const std::byte> values,
                                    const std::vector<float>& scaled) {
  const Dtype type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  const auto terms = static_cast<std::size_t>(packed_pair_words(mode));
  std::vector<std::uint16_t> high = rounded(type, scaled);
  if (element == type) {
    // Bits as they are: what a NaN carries stays in it.
    for (std::size_t i = 0; i < high.size(); ++i)
      if (form.sources[i] != absent) std::memcpy(&high[i], values.data() + 2 * static_cast<std::size_t>(form.sources[i]), 2);
  }
  std::vector<std::uint16_t> low;
  if (terms == 2) {
    std::vector<float> rests;
    rests.reserve(scaled.size());
    for (const float value : scaled) rests.push_back(rest(value, round_to(type, value)));
    low = rounded(type, rests);
  }
  std::vector<std::uint16_t> all(scaled.size() * terms);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const std::size_t pair = i / 2 * terms * 2;
    all[pair + i % 2] = high[i];
    if (terms == 2) all[pair + 2 + i % 2] = low[i];
  }
  return all;
}

float to_float(PackedMode mode, std::uint32_t word, std::size_t half) {
  const auto bits = static_cast<std::uint16_t>(word >> 16 * half);
  std::array<std::byte, 2> bytes;
  std::memcpy(bytes.data(), &bits, sizeof bits);
  return from_storage(packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16, bytes).front();
}

}  // namespace

std::vector<std::uint32_t> PackedForm::unit_offsets(int pair_words) const {
  std::vector<std::uint32_t> offsets = {0};
  for (std::size_t strip = 0; strip + 1 < pair_offsets.size(); ++strip)
    offsets.push_back(offsets.back() + packed_strip_units(pair_offsets[strip + 1] - pair_offsets[strip], pair_words));
  return offsets;
}

PackedForm packed_form(const Csr& walked, std::span<const std::int32_t> value_positions) {
  if (walked.nonzeros() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot pack strips: {} nonzeros are past 2^31 - 1", walked.nonzeros());
  PackedForm form{.rows = walked.rows, .cols = walked.cols, .row_strips = packed_row_strips(walked.rows), .k_blocks = packed_k_blocks(walked.cols)};
  form.headers.assign(static_cast<std::size_t>(form.strips() * packed_lanes), 0);
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t) {
    const Slot slot = slot_of(form, row, column);
    form.headers[slot.header] |= 1U << slot.bit;
  });
  count_pairs(form);
  form.sources.assign(2 * std::size_t{form.pair_offsets.back()}, absent);
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const Slot slot = slot_of(form, row, column);
    const std::size_t pair = std::size_t{form.pair_offsets[slot.header / packed_lanes]} + pair_of(form, slot);
    std::int32_t& source = form.sources[2 * pair + slot.half];
    if (source != absent) fail(ErrorCode::unsupported, "cannot pack strips: row {} names column {} twice", row, column);
    source = value_positions.empty() ? static_cast<std::int32_t>(i) : value_positions[static_cast<std::size_t>(i)];
  });
  place_nonzeros(form, walked, value_positions);
  return form;
}

PackedMatrix pack(const PackedForm& form, PackedMode mode, Dtype element, std::span<const std::byte> values) {
  const std::vector<float> floats = from_storage(element, values);
  PackedMatrix packed{.mode = mode};
  std::vector<float> scales;
  if (packed_scales_rows(mode)) scales = scales_of(form, floats);
  for (const float scale : scales) packed.row_scales.push_back(1 / scale);

  std::vector<float> scaled(form.sources.size(), 0);
  for (std::size_t i = 0; i < scaled.size(); ++i)
    if (form.sources[i] != absent) scaled[i] = floats[static_cast<std::size_t>(form.sources[i])];
  if (!scales.empty())
    for (std::int64_t strip = 0; strip < form.strips(); ++strip)
      for_each_pair(form, strip, headers_of(form.headers, static_cast<std::size_t>(strip) * packed_lanes),
                    [&](std::int64_t row, std::int64_t, std::size_t pair) {
                      const std::size_t first = 2 * (form.pair_offsets[static_cast<std::size_t>(strip)] + pair);
                      for (const std::size_t half : {0, 1}) scaled[first + half] *= scales[static_cast<std::size_t>(row)];
                    });

  const std::vector<std::uint16_t> terms = terms_of(form, mode, element, values, scaled);
  const auto words = static_cast<std::size_t>(packed_pair_words(mode));
  for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip) {
    const auto headers = headers_of(form.headers, strip * packed_lanes);
    packed.data.insert(packed.data.end(), headers.begin(), headers.end());
    for (std::size_t word = form.pair_offsets[strip] * words; word < form.pair_offsets[strip + 1] * words; ++word)
      packed.data.push_back(terms[2 * word] | static_cast<std::uint32_t>(terms[2 * word + 1]) << 16);
    packed.data.resize((packed.data.size() + 3) / 4 * 4, 0);
  }
  return packed;
}

std::vector<double> unpack(const PackedForm& form, const PackedMatrix& packed) {
  std::vector<double> dense(static_cast<std::size_t>(form.rows * form.cols), 0);
  const auto words = static_cast<std::size_t>(packed_pair_words(packed.mode));
  const std::vector<std::uint32_t> offsets = form.unit_offsets(packed_pair_words(packed.mode));
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    const std::size_t first = std::size_t{offsets[static_cast<std::size_t>(strip)]} * 4;
    for_each_pair(form, strip, headers_of(packed.data, first), [&](std::int64_t row, std::int64_t column, std::size_t pair) {
      for (std::size_t half = 0; half < 2; ++half) {
        double value = 0;
        for (std::size_t term = 0; term < words; ++term)
          value += to_float(packed.mode, packed.data[first + packed_lanes + pair * words + term], half);
        if (!packed.row_scales.empty()) value *= packed.row_scales[static_cast<std::size_t>(row)];
        // A missing partner may lie past the last column, as it may not past the last row.
        if (column + static_cast<std::int64_t>(half) < form.cols) dense[static_cast<std::size_t>(row * form.cols + column) + half] = value;
      }
    });
  }
  return dense;
}

}  // namespace vostok::sparse
