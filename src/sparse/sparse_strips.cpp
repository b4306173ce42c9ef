#include "sparse/sparse_strips.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "sparse/nonzeros.hpp"

namespace vostok::sparse {

namespace {

constexpr std::int32_t absent = -1;

/// Where an element of the matrix goes.
struct Slot {
  std::size_t word;  ///< index of its lane's word of groups
  unsigned bit;

  std::size_t strip() const { return word / packed_lanes(); }
};

Slot slot_of(const SparseForm& form, std::int64_t row, std::int64_t column) {
  const SparsePlace place =
      sparse_place(static_cast<int>(row % packed_strip_rows()), static_cast<int>(column % packed_strip_columns()));
  const std::int64_t strip = column / packed_strip_columns() * form.row_strips + row / packed_strip_rows();
  return {static_cast<std::size_t>(strip * packed_lanes() + place.lane), static_cast<unsigned>(place.bit)};
}

std::span<const std::uint32_t> groups_of(const SparseForm& form, std::size_t strip) {
  return std::span(form.groups).subspan(strip * packed_lanes(), packed_lanes());
}

/// Passes of a strip's steps, as a half of a header has them.
unsigned passes_of(std::span<const std::uint32_t> groups) {
  unsigned most[sparse_steps()] = {};
  for (const std::uint32_t word : groups)
    for (int step = 0; step < sparse_steps(); ++step)
      for (int r = 0; r < sparse_registers(); ++r)
        most[step] = std::max(most[step], sparse_passes(sparse_group(word, step, r)));
  return sparse_pass_pair(most[0], most[1]);
}

/// Headers, and where strips start, from the groups.
void count(SparseForm& form) {
  const auto strips = static_cast<std::size_t>(form.strips());
  form.nonzero_offsets.assign(1, 0);
  form.unit_offsets.assign(1, 0);
  for (std::size_t first = 0; first < strips; first += sparse_tile_strips()) {
    unsigned most[sparse_steps()] = {};
    for (std::size_t strip = first; strip < first + sparse_tile_strips(); ++strip) {
      const SparseHeader own{passes_of(groups_of(form, strip))};
      for (int step = 0; step < sparse_steps(); ++step) most[step] = std::max(most[step], own.passes(step));
      std::uint32_t nonzeros = 0;
      for (const std::uint32_t word : groups_of(form, strip))
        nonzeros += static_cast<std::uint32_t>(std::popcount(word));
      form.headers.push_back(own.word);
      form.nonzero_offsets.push_back(form.nonzero_offsets.back() + nonzeros);
      form.unit_offsets.push_back(form.unit_offsets.back() + sparse_strip_units(own.all_passes()));
    }
    for (std::size_t strip = first; strip < first + sparse_tile_strips(); ++strip)
      form.headers[strip] = sparse_header(form.headers[strip], sparse_pass_pair(most[0], most[1])).word;
  }
}

/// Nonzeros of a strip before a bit of a lane.
std::uint32_t nonzeros_before(std::span<const std::uint32_t> groups, std::size_t lane, unsigned bit) {
  auto before = static_cast<std::uint32_t>(std::popcount(groups[lane] & ((1U << bit) - 1)));
  for (std::size_t other = 0; other < lane; ++other) before += static_cast<std::uint32_t>(std::popcount(groups[other]));
  return before;
}

/// A strip's values by where they lie: [lane][bit].
std::vector<std::uint16_t> values_of(const SparseForm& form, std::size_t strip, std::span<const std::byte> values) {
  std::vector<std::uint16_t> found(std::size_t{packed_lanes()} * 32, 0);
  std::size_t next = form.nonzero_offsets[strip];
  for (std::size_t lane = 0; lane < packed_lanes(); ++lane)
    for (std::uint32_t word = groups_of(form, strip)[lane]; word != 0; word &= word - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(word));
      std::uint16_t& value = found[lane * 32 + bit];
      std::memcpy(&value, values.data() + 2 * static_cast<std::size_t>(form.sources[next++]), 2);
      value = packed_named(value);
    }
  return found;
}

/// The words of a pass: registers, then metadata.
std::vector<std::uint32_t> pass_words(std::span<const std::uint32_t> groups, const std::vector<std::uint16_t>& values,
                                      int step, int pass) {
  std::vector<std::uint32_t> words(sparse_pass_bytes() / 4, 0);
  for (std::size_t lane = 0; lane < packed_lanes(); ++lane)
    for (int r = 0; r < sparse_registers(); ++r) {
      const unsigned taken = sparse_taken(sparse_group(groups[lane], step, r), pass);
      const SparsePlaces places = sparse_places(taken);
      const auto value = [&](unsigned place) -> std::uint32_t {
        return (taken >> place & 1U) != 0 ? values[lane * 32 + static_cast<std::size_t>(step * 16 + r * 4) + place]
                                          : 0U;
      };
      words[lane * sparse_registers() + static_cast<std::size_t>(r)] = value(places.lower) | value(places.higher) << 16;
      const std::size_t word = sparse_metadata_begin() / 4 + lane / 4 * 2 + static_cast<std::size_t>(r / 2);
      words[word] |= places.metadata() << (16U * static_cast<unsigned>(r % 2) + 4U * static_cast<unsigned>(lane % 4));
    }
  return words;
}

/// One value of a pass and where it belongs.
struct Found {
  int row;
  int column;
  std::uint16_t bits;
};

/// visit(found) for every value of a pass that is not zero, by its metadata alone.
template <class Visit>
void for_each_value(std::span<const std::uint32_t> words, int step, const Visit& visit) {
  for (int lane = 0; lane < packed_lanes(); ++lane)
    for (int r = 0; r < sparse_registers(); ++r) {
      const int metadata_word = sparse_metadata_begin() / 4 + lane / 4 * 2 + r / 2;
      const std::uint32_t metadata = words[static_cast<std::size_t>(metadata_word)] >> (16 * (r % 2) + 4 * (lane % 4));
      const SparsePlaces places{metadata & 3U, metadata >> 2 & 3U};
      if (places.lower >= places.higher)
        fail(ErrorCode::internal, "metadata of lane {} name places {} and {}", lane, places.lower, places.higher);
      const int pair_word = lane * sparse_registers() + r;
      const std::uint32_t pair = words[static_cast<std::size_t>(pair_word)];
      for (const auto& [place, bits] : {std::pair{places.lower, pair & 0xffffU}, std::pair{places.higher, pair >> 16}})
        if (bits != 0)
          visit(Found{sparse_row(lane, r), sparse_column(lane, step, r) + static_cast<int>(place),
                      static_cast<std::uint16_t>(bits)});
    }
}

}  // namespace

SparseForm sparse_form(const Csr& walked, std::span<const std::int32_t> value_positions) {
  if (walked.nonzeros() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot make sparse strips: {} nonzeros are past 2^31 - 1", walked.nonzeros());
  SparseForm form{.rows = walked.rows,
                  .cols = walked.cols,
                  .row_strips = packed_row_strips(walked.rows),
                  .k_blocks = packed_k_blocks(walked.cols)};
  form.groups.assign(static_cast<std::size_t>(form.strips() * packed_lanes()), 0);
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t) {
    const Slot slot = slot_of(form, row, column);
    form.groups[slot.word] |= 1U << slot.bit;
  });
  count(form);
  form.sources.assign(static_cast<std::size_t>(walked.nonzeros()), absent);
  for_each_nonzero(walked, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    const Slot slot = slot_of(form, row, column);
    const std::uint32_t before = nonzeros_before(groups_of(form, slot.strip()), slot.word % packed_lanes(), slot.bit);
    std::int32_t& source = form.sources[form.nonzero_offsets[slot.strip()] + before];
    if (source != absent)
      fail(ErrorCode::unsupported, "cannot make sparse strips: row {} names column {} twice", row, column);
    source = value_positions.empty() ? static_cast<std::int32_t>(i) : value_positions[static_cast<std::size_t>(i)];
  });
  return form;
}

std::vector<std::uint32_t> pack(const SparseForm& form, std::span<const std::byte> values) {
  std::vector<std::uint32_t> data;
  for (std::size_t strip = 0; strip < static_cast<std::size_t>(form.strips()); ++strip) {
    const SparseHeader header{form.headers[strip]};
    const std::vector<std::uint16_t> own = values_of(form, strip, values);
    data.insert(data.end(), {header.word, 0, 0, 0});
    for (int step = 0; step < sparse_steps(); ++step)
      for (int pass = 0; pass < static_cast<int>(header.passes(step)); ++pass) {
        const std::vector<std::uint32_t> words = pass_words(groups_of(form, strip), own, step, pass);
        data.insert(data.end(), words.begin(), words.end());
      }
  }
  return data;
}

std::vector<std::uint16_t> unpack(const SparseForm& form, std::span<const std::uint32_t> packed) {
  std::vector<std::uint16_t> dense(static_cast<std::size_t>(form.rows * form.cols), 0);
  for (std::int64_t strip = 0; strip < form.strips(); ++strip) {
    std::size_t at = std::size_t{form.unit_offsets[static_cast<std::size_t>(strip)]} * (packed_unit_bytes() / 4);
    const SparseHeader header{packed[at]};
    at += sparse_header_bytes() / 4;
    for (int step = 0; step < sparse_steps(); ++step)
      for (unsigned pass = 0; pass < header.passes(step); ++pass, at += sparse_pass_bytes() / 4)
        for_each_value(packed.subspan(at, sparse_pass_bytes() / 4), step, [&](const Found& found) {
          const std::int64_t row = strip % form.row_strips * packed_strip_rows() + found.row;
          const std::int64_t column = strip / form.row_strips * packed_strip_columns() + found.column;
          if (row >= form.rows || column >= form.cols)
            fail(ErrorCode::internal, "a packed value lies in row {}, column {} of a matrix of {} x {}", row, column,
                 form.rows, form.cols);
          dense[static_cast<std::size_t>(row * form.cols + column)] = found.bits;
        });
  }
  return dense;
}

}  // namespace vostok::sparse
