#include "sparse/packed_strips.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <abi/packed_fours.h>

#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/nonzeros.hpp"
#include "sparse/packed_pairs.hpp"

namespace vostok::sparse {

namespace {

constexpr std::int32_t absent = -1;

/// The columns that each row names in each strip: PackedStepArgs::row_masks.
using RowMasks = std::vector<std::uint64_t>;

/// Where an element of the matrix goes.
struct Slot {
  std::size_t strip;
  std::uint32_t pair;  ///< in its strip
  std::size_t half;
  bool left_over;
};

/// The pair that a place belongs to, in its strip.
std::uint32_t pair_of(const PackedForm& form, std::size_t strip, const PackedPlace& place) {
  const std::uint32_t header = form.headers[(strip * packed_lanes() + static_cast<std::size_t>(place.lane)) *
                                            static_cast<std::size_t>(packed_lane_words(form.grain))];
  return packed_start(header) +
         static_cast<std::uint32_t>(std::popcount(packed_mask(header) & ((1U << place.bit) - 1)));
}

/// After count_pairs.
Slot slot_of(const PackedForm& form, const RowMasks& masks, std::int64_t row, std::int64_t column) {
  const auto in_strip = static_cast<int>(column % packed_strip_columns());
  const auto strip_row = static_cast<int>(row % packed_strip_rows());
  const auto strip =
      static_cast<std::size_t>(column / packed_strip_columns() * form.row_strips + row / packed_strip_rows());
  if (form.grain == PackedGrain::whole) {
    const unsigned number = packed_whole_number(strip_row, in_strip);
    return {.strip = strip, .pair = number / 2, .half = number % 2, .left_over = false};
  }
  PackedPlace place = packed_place(strip_row, in_strip);
  bool left_over = false;
  if (form.grain == PackedGrain::four) {
    const std::uint64_t names = masks[strip * packed_strip_rows() + static_cast<std::size_t>(strip_row)];
    const FourPlace four = four_place(strip_row, in_strip);
    place = {four.lane, four.bit, four_half(four_of(names, in_strip), in_strip)};
    left_over = (fours_left(names) >> in_strip & 1) != 0;
  }
  return {strip, pair_of(form, strip, place), static_cast<std::size_t>(place.half), left_over};
}

/// Those of the structure.
std::span<const std::uint32_t> headers_of(const PackedForm& form, std::int64_t strip) {
  return headers_of(form, form.headers, static_cast<std::size_t>(strip * packed_header_words(form.grain)));
}

/// The masks of the lanes, and their metadata.
void mark_headers(PackedForm& form, const RowMasks& masks) {
  const auto words = static_cast<std::size_t>(packed_lane_words(form.grain));
  form.headers.assign(static_cast<std::size_t>(form.strips() * packed_header_words(form.grain)), 0);
  if (words == 0) return;
  for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip)
    for (std::size_t lane = 0; lane < packed_lanes(); ++lane) {
      const auto mask_of = [&](int below) {
        return masks[strip * packed_strip_rows() + static_cast<std::size_t>(packed_row(static_cast<int>(lane), below))];
      };
      std::uint32_t* const header = form.headers.data() + (strip * packed_lanes() + lane) * words;
      if (form.grain == PackedGrain::four) {
        header[0] = four_mask(static_cast<int>(lane), mask_of(0), mask_of(1));
        header[1] = four_metadata(static_cast<int>(lane), mask_of(0), mask_of(1));
      } else {
        for (int bit = 0; bit < 16; ++bit)
          header[0] |= (mask_of(bit & 1) >> packed_column(static_cast<int>(lane), bit) & 3U) != 0 ? 1U << bit : 0U;
      }
    }
}

/// Starts of the lanes and of the strips, from the masks.
void count_pairs(PackedForm& form) {
  std::uint32_t total = 0;
  form.pair_offsets.assign(1, 0);
  for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip) {
    unsigned pairs = form.grain == PackedGrain::whole ? static_cast<unsigned>(packed_most(form.grain)) : 0;
    for (std::size_t lane = 0; lane < packed_lanes() && !form.headers.empty(); ++lane) {
      std::uint32_t& header =
          form.headers[(strip * packed_lanes() + lane) * static_cast<std::size_t>(packed_lane_words(form.grain))];
      const unsigned mask = header;
      header = packed_header(mask, pairs);
      pairs += static_cast<unsigned>(std::popcount(mask));
    }
    form.pair_offsets.push_back(total += pairs);
  }
}

/// The nonzeros of each row by ascending column.
std::vector<std::int64_t> numbered(const Csr& csr) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(csr.nonzeros()));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t row = 0; std::cmp_less(row, csr.rows); ++row)
    std::sort(numbers.begin() + csr.row_offsets[row], numbers.begin() + csr.row_offsets[row + 1],
              [&](std::int64_t a, std::int64_t b) {
                return csr.column_indices[static_cast<std::size_t>(a)] <
                       csr.column_indices[static_cast<std::size_t>(b)];
              });
  return numbers;
}

/// What finds the value of a nonzero and its slot, from the headers: see PackedStructure.
void place_nonzeros(PackedForm& form, const Csr& csr, const RowMasks& masks,
                    std::span<const std::int32_t> value_positions) {
  struct Placed {
    std::int64_t strip, row;
    std::uint16_t slot;
  };
  const std::vector<std::int64_t> numbers = numbered(csr);
  std::vector<Placed> placed;
  std::vector<std::int32_t> next;  // of each row: the number of its next nonzero
  for (std::int64_t row = 0; row < form.row_strips * packed_strip_rows(); ++row) {
    const auto offset = [&](std::int64_t r) {
      return r < csr.rows ? csr.row_offsets[static_cast<std::size_t>(r)] : csr.nonzeros();
    };
    next.push_back(static_cast<std::int32_t>(offset(row)));
    for (std::int64_t number = offset(row); number < offset(row + 1); ++number) {
      const std::int64_t column =
          csr.column_indices[static_cast<std::size_t>(numbers[static_cast<std::size_t>(number)])];
      const Slot slot = slot_of(form, masks, row, column);
      const auto strip_row = static_cast<int>(row % packed_strip_rows());
      const unsigned code =
          slot.left_over ? packed_left_slot(strip_row) : packed_slot(strip_row, slot.pair, static_cast<int>(slot.half));
      placed.push_back({static_cast<std::int64_t>(slot.strip), row, static_cast<std::uint16_t>(code)});
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.strip < b.strip; });

  std::size_t at = 0;
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    form.slot_offsets.push_back(static_cast<std::uint32_t>(form.slots.size()));
    for (std::int64_t row = strip % form.row_strips * packed_strip_rows(), end = row + packed_strip_rows(); row < end;
         ++row) {
      std::int32_t& number = next[static_cast<std::size_t>(row)];
      form.row_starts.push_back(number);
      for (; at < placed.size() && placed[at].strip == strip && placed[at].row == row; ++at, ++number)
        form.slots.push_back(placed[at].slot);
    }
    form.slots.resize(packed_strip_slots(static_cast<unsigned>(form.slots.size())), 0);
  }
  form.slot_offsets.push_back(static_cast<std::uint32_t>(form.slots.size()));
  form.row_starts.insert(form.row_starts.end(), next.begin(), next.end());

  if (value_positions.empty() && std::is_sorted(numbers.begin(), numbers.end())) return;
  for (const std::int64_t number : numbers)
    form.value_places.push_back(value_positions.empty() ? static_cast<std::int32_t>(number)
                                                        : value_positions[static_cast<std::size_t>(number)]);
}

/// s of each row.
std::vector<float> scales_of(const PackedForm& form, std::span<const float> values) {
  std::vector<std::uint32_t> largest(static_cast<std::size_t>(form.row_strips * packed_strip_rows()), 0);
  const auto take = [&](std::size_t row, std::int32_t source) {
    if (source == absent || !std::isfinite(values[static_cast<std::size_t>(source)])) return;
    largest[row] =
        std::max(largest[row], std::bit_cast<std::uint32_t>(std::fabs(values[static_cast<std::size_t>(source)])));
  };
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    const auto first = form.pair_offsets[static_cast<std::size_t>(strip)];
    for_each_pair(form, strip, headers_of(form, strip), [&](std::int64_t row, const auto&, std::size_t pair) {
      for (const std::size_t half : {0, 1})
        take(static_cast<std::size_t>(row), form.sources[2 * (first + pair) + half]);
    });
  }
  for (std::size_t row = 0; row + 1 < form.left_starts.size(); ++row)
    for (std::size_t i = form.left_starts[row]; i < form.left_starts[row + 1]; ++i) take(row, form.left_sources[i]);
  std::vector<float> scales;
  scales.reserve(largest.size());
  for (const std::uint32_t bits : largest)
    scales.push_back(std::bit_cast<float>(packed_power_bits(packed_scale_exponent(bits))));
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
std::vector<std::uint16_t> terms_of(const PackedForm& form, PackedMode mode, Dtype element,
                                    std::span<const std::byte> values, const std::vector<float>& scaled) {
  const Dtype type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  const auto terms = static_cast<std::size_t>(packed_pair_words(mode));
  std::vector<std::uint16_t> high = rounded(type, scaled);
  if (element == type) {
    // Bits as they are: what a NaN carries stays in it.
    for (std::size_t i = 0; i < high.size(); ++i)
      if (form.sources[i] != absent)
        std::memcpy(&high[i], values.data() + 2 * static_cast<std::size_t>(form.sources[i]), 2);
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
    all[pair + i % 2] = form.sources[i] != absent ? packed_named(high[i]) : high[i];
    if (terms == 2) all[pair + 2 + i % 2] = low[i];
  }
  return all;
}

/// Whether an element, scaled, loses more than its rounding.
bool loses(PackedMode mode, float scaled) {
  if (!(std::fabs(scaled) < packed_least_kept(mode))) return false;
  const float high = round_to(Dtype::f16, scaled);
  const float low = packed_pair_words(mode) == 2 ? round_to(Dtype::f16, rest(scaled, high)) : 0;
  return high + low != scaled;
}

/// Adds the exact values, and to each inverse scale how much its row loses.
void mark_rows(PackedMatrix& packed, const PackedForm& form, std::span<const float> values,
               const std::vector<float>& scales) {
  const std::size_t rows = scales.size();
  packed.firsts.assign(form.row_starts.begin(), form.row_starts.begin() + static_cast<std::ptrdiff_t>(rows));
  for (std::int32_t number = 0; number < form.nonzeros(); ++number) {
    const auto place = static_cast<std::size_t>(
        form.value_places.empty() ? number : form.value_places[static_cast<std::size_t>(number)]);
    packed.exact.push_back(values[place]);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t end = row + 1 < rows ? packed.firsts[row + 1] : form.nonzeros();
    unsigned lossy = 0, largest = 0;
    for (std::int32_t number = packed.firsts[row]; number < end; ++number) {
      const float value = packed.exact[static_cast<std::size_t>(number)];
      lossy += loses(packed.mode, value * scales[row]) ? 1U : 0U;
      if (std::isfinite(value)) largest = std::max(largest, std::bit_cast<std::uint32_t>(std::fabs(value)));
    }
    packed.row_scales[row] =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(packed.row_scales[row]) | packed_row_mark(largest, lossy));
  }
}

/// What the strips do not hold.
template <class SourceOf>
void leave_over(PackedForm& form, const Csr& csr, const RowMasks& masks, const SourceOf& source_of) {
  const std::vector<std::int64_t> numbers = numbered(csr);
  for (std::int64_t row = 0; row < form.row_strips * packed_strip_rows(); ++row) {
    form.left_starts.push_back(static_cast<std::uint32_t>(form.left_places.size()));
    if (row >= csr.rows) continue;
    for (std::int64_t i = csr.row_offsets[static_cast<std::size_t>(row)];
         i < csr.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
      const std::int64_t number = numbers[static_cast<std::size_t>(i)];
      const std::int64_t column = csr.column_indices[static_cast<std::size_t>(number)];
      if (!slot_of(form, masks, row, column).left_over) continue;
      form.left_places.push_back(
          packed_left_place(static_cast<int>(row % packed_strip_rows()), static_cast<std::uint32_t>(column)));
      form.left_sources.push_back(source_of(number));
    }
  }
  form.left_starts.push_back(static_cast<std::uint32_t>(form.left_places.size()));
}

}  // namespace

std::vector<std::uint32_t> PackedForm::unit_offsets(int pair_words) const {
  std::vector<std::uint32_t> offsets = {0};
  for (std::size_t strip = 0; strip + 1 < pair_offsets.size(); ++strip)
    offsets.push_back(offsets.back() +
                      packed_strip_units(grain, pair_offsets[strip + 1] - pair_offsets[strip], pair_words));
  return offsets;
}

PackedForm packed_form(const Csr& walked, std::span<const std::int32_t> value_positions, PackedGrain grain) {
  if (walked.nonzeros() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot pack strips: {} nonzeros are past 2^31 - 1", walked.nonzeros());
  PackedForm form{.grain = grain,
                  .rows = walked.rows,
                  .cols = walked.cols,
                  .row_strips = packed_row_strips(walked.rows),
                  .k_blocks = packed_k_blocks(walked.cols)};
  RowMasks masks(static_cast<std::size_t>(form.strips() * packed_strip_rows()), 0);
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t) {
    const std::int64_t strip = column / packed_strip_columns() * form.row_strips + row / packed_strip_rows();
    std::uint64_t& names = masks[static_cast<std::size_t>(strip * packed_strip_rows() + row % packed_strip_rows())];
    const std::uint64_t bit = std::uint64_t{1} << column % packed_strip_columns();
    if ((names & bit) != 0)
      fail(ErrorCode::unsupported, "cannot pack strips: row {} names column {} twice", row, column);
    names |= bit;
  });
  mark_headers(form, masks);
  count_pairs(form);
  form.sources.assign(2 * std::size_t{form.pair_offsets.back()}, absent);
  const auto source_of = [&](std::int64_t i) {
    return value_positions.empty() ? static_cast<std::int32_t>(i) : value_positions[static_cast<std::size_t>(i)];
  };
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const Slot slot = slot_of(form, masks, row, column);
    if (!slot.left_over)
      form.sources[2 * (std::size_t{form.pair_offsets[slot.strip]} + slot.pair) + slot.half] = source_of(i);
  });
  place_nonzeros(form, walked, masks, value_positions);
  if (grain == PackedGrain::four) leave_over(form, walked, masks, source_of);
  return form;
}

PackedMatrix pack(const PackedForm& form, PackedMode mode, Dtype element, std::span<const std::byte> values,
                  bool marked) {
  const std::vector<float> floats = from_storage(element, values);
  PackedMatrix packed{.mode = mode};
  std::vector<float> scales;
  if (packed_scales_rows(mode)) scales = scales_of(form, floats);
  for (const float scale : scales) packed.row_scales.push_back(1 / scale);
  if (marked) mark_rows(packed, form, floats, scales);

  std::vector<float> scaled(form.sources.size(), 0);
  for (std::size_t i = 0; i < scaled.size(); ++i)
    if (form.sources[i] != absent) scaled[i] = floats[static_cast<std::size_t>(form.sources[i])];
  if (!scales.empty())
    for (std::int64_t strip = 0; strip < form.strips(); ++strip)
      for_each_pair(form, strip, headers_of(form, strip), [&](std::int64_t row, const auto&, std::size_t pair) {
        const std::size_t first = 2 * (form.pair_offsets[static_cast<std::size_t>(strip)] + pair);
        for (const std::size_t half : {0, 1}) scaled[first + half] *= scales[static_cast<std::size_t>(row)];
      });

  const std::vector<std::uint16_t> terms = terms_of(form, mode, element, values, scaled);
  const int words = packed_pair_words(mode);
  for (std::size_t strip = 0; std::cmp_less(strip, form.strips()); ++strip) {
    const auto headers = headers_of(form, static_cast<std::int64_t>(strip));
    packed.data.insert(packed.data.end(), headers.begin(), headers.end());
    const std::size_t first = packed.data.size();
    const std::uint32_t first_pair = form.pair_offsets[strip], pairs = form.pair_offsets[strip + 1] - first_pair;
    packed.data.resize((first + std::size_t{pairs} * static_cast<std::size_t>(words) + 3) / 4 * 4, 0);
    for (unsigned pair = 0; pair < pairs; ++pair)
      for (int term = 0; term < words; ++term) {
        const std::size_t from =
            2 * ((std::size_t{first_pair} + pair) * static_cast<std::size_t>(words) + static_cast<std::size_t>(term));
        packed.data[first + packed_word(form.grain, pair, term, words)] =
            terms[from] | static_cast<std::uint32_t>(terms[from + 1]) << 16;
      }
  }
  for (std::size_t i = 0; i < form.left_sources.size(); ++i)
    packed.left_over.push_back({form.left_places[i], floats[static_cast<std::size_t>(form.left_sources[i])]});
  return packed;
}

}  // namespace vostok::sparse
