#include "sparse/coded_structure.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/checked.hpp"

namespace vostok::sparse {

namespace {

constexpr std::string_view bitmap = "bitmap", gaps = "gaps", steps = "steps";
constexpr int number_bits = 7;

constexpr std::int64_t number_bytes(std::uint64_t value) {
  return std::max<std::int64_t>(ceil_div(static_cast<std::int64_t>(std::bit_width(value)), number_bits), 1);
}

std::span<const std::int32_t> columns_of(const Csr& csr, std::int64_t row) {
  const auto begin = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
  return std::span(csr.column_indices)
      .subspan(begin, static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row) + 1]) - begin);
}

bool ascends(const Csr& csr) {
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    const auto columns = columns_of(csr, row);
    if (std::adjacent_find(columns.begin(), columns.end(), std::greater_equal()) != columns.end()) return false;
  }
  return true;
}

/// The number that stands for a column behind `before`, which is -1 ahead of a row's first.
std::uint64_t coded_gap(std::int64_t before, std::int64_t column) {
  return static_cast<std::uint64_t>(column - before - 1);
}
std::uint64_t coded_step(std::int64_t before, std::int64_t column) {
  const std::int64_t step = column - std::max<std::int64_t>(before, 0);
  return step < 0 ? static_cast<std::uint64_t>(-2 * step - 1) : static_cast<std::uint64_t>(2 * step);
}

/// The column that such a number stands for; past int64's half, a number that no column has.
std::int64_t column_of_gap(std::int64_t before, std::uint64_t number) {
  return before + 1 + static_cast<std::int64_t>(number);
}
std::int64_t column_of_step(std::int64_t before, std::uint64_t number) {
  const auto half = static_cast<std::int64_t>(number / 2);
  return std::max<std::int64_t>(before, 0) + (number % 2 != 0 ? -half - 1 : half);
}

/// Calls `visit` with every number, in order.
template <class Coded, class Visit>
void visit_numbers(const Csr& csr, const Coded& coded, const Visit& visit) {
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    const auto columns = columns_of(csr, row);
    visit(columns.size());
    std::int64_t before = -1;
    for (const std::int32_t column : columns) {
      visit(coded(before, column));
      before = column;
    }
  }
}

template <class Coded>
std::int64_t bytes_of_numbers(const Csr& csr, const Coded& coded) {
  std::int64_t bytes = 0;
  visit_numbers(csr, coded, [&](std::uint64_t number) { bytes += number_bytes(number); });
  return bytes;
}

template <class Coded>
std::vector<std::byte> write_numbers(const Csr& csr, const Coded& coded, std::int64_t bytes) {
  std::vector<std::byte> written(static_cast<std::size_t>(bytes));
  std::byte* end = written.data();
  visit_numbers(csr, coded, [&](std::uint64_t number) {
    for (; number >= 128; number >>= number_bits) *end++ = static_cast<std::byte>(number | 128U);
    *end++ = static_cast<std::byte>(number);
  });
  return written;
}

std::vector<std::byte> write_bitmap(const Csr& csr) {
  const std::int64_t row_bytes = ceil_div(csr.cols, 8);
  std::vector<std::byte> bytes(static_cast<std::size_t>(csr.rows * row_bytes));
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    std::byte* const bits = bytes.data() + row * row_bytes;
    for (const std::int32_t column : columns_of(csr, row)) bits[column / 8] |= static_cast<std::byte>(1 << column % 8);
  }
  return bytes;
}

/// Reads numbers until the bytes end or a number is none.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  std::optional<std::uint64_t> next() {
    constexpr int most_bits = 5 * number_bits;
    std::uint64_t number = 0;
    for (int shift = 0; shift < most_bits && at_ != end_; shift += number_bits) {
      const auto byte = static_cast<std::uint64_t>(*at_++);
      number |= (byte & 127U) << shift;
      if (byte < 128) return number;
    }
    return std::nullopt;
  }
  bool at_end() const { return at_ == end_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

/// Fills the columns and offsets of a matrix whose sizes are set.
template <class ColumnOf>
bool read_numbers(Csr& csr, std::int64_t nonzeros, std::span<const std::byte> bytes, const ColumnOf& column_of) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  if (csr.rows > count || nonzeros > count - csr.rows) return false;  // each takes a byte at least
  csr.row_offsets.reserve(static_cast<std::size_t>(csr.rows) + 1);
  csr.column_indices.reserve(static_cast<std::size_t>(nonzeros));
  NumberReader reader(bytes);
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    const auto length = reader.next();
    if (!length || *length > static_cast<std::uint64_t>(nonzeros - csr.nonzeros())) return false;
    std::int64_t column = -1;
    for (std::uint64_t i = 0; i < *length; ++i) {
      const auto number = reader.next();
      if (!number) return false;
      column = column_of(column, *number);
      if (column < 0 || column >= csr.cols) return false;
      csr.column_indices.push_back(static_cast<std::int32_t>(column));
    }
    csr.row_offsets.push_back(csr.nonzeros());
  }
  return reader.at_end() && csr.nonzeros() == nonzeros;
}

bool read_bitmap(Csr& csr, std::int64_t nonzeros, std::span<const std::byte> bytes) {
  const std::int64_t row_bytes = ceil_div(csr.cols, 8);
  const auto count = static_cast<std::int64_t>(bytes.size());
  if (row_bytes == 0 || count % row_bytes != 0 || count / row_bytes != csr.rows || nonzeros / 8 > count) return false;
  csr.row_offsets.reserve(static_cast<std::size_t>(csr.rows) + 1);
  csr.column_indices.reserve(static_cast<std::size_t>(nonzeros));
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    const std::byte* const bits = bytes.data() + row * row_bytes;
    for (std::int64_t at = 0; at < row_bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bits + at, static_cast<std::size_t>(std::min<std::int64_t>(row_bytes - at, 8)));
      if (std::popcount(word) > nonzeros - csr.nonzeros()) return false;
      for (; word != 0; word &= word - 1)
        csr.column_indices.push_back(static_cast<std::int32_t>(8 * at + std::countr_zero(word)));
    }
    if (csr.nonzeros() > csr.row_offsets.back() && csr.column_indices.back() >= csr.cols) return false;
    csr.row_offsets.push_back(csr.nonzeros());
  }
  return csr.nonzeros() == nonzeros;
}

}  // namespace

CodedStructure code_structure(const Csr& csr) {
  if (!ascends(csr))
    return {.coding = std::string(steps), .bytes = write_numbers(csr, coded_step, bytes_of_numbers(csr, coded_step))};
  const std::int64_t bitmap_bytes = csr.rows * ceil_div(csr.cols, 8);
  // Each number takes a byte at least: where that is more, they need not be counted.
  const bool is_dense = csr.cols > 0 && bitmap_bytes <= csr.rows + csr.nonzeros();
  const std::int64_t gap_bytes = is_dense ? 0 : bytes_of_numbers(csr, coded_gap);
  if (csr.cols > 0 && (is_dense || bitmap_bytes <= gap_bytes))
    return {.coding = std::string(bitmap), .bytes = write_bitmap(csr)};
  return {.coding = std::string(gaps), .bytes = write_numbers(csr, coded_gap, gap_bytes)};
}

bool knows_coding(std::string_view coding) { return coding == bitmap || coding == gaps || coding == steps; }

std::optional<Csr> decode_structure(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                                    std::string_view coding, std::span<const std::byte> bytes) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || rows >= most || cols < 0 || cols > most || nonzeros < 0) return std::nullopt;
  std::optional<Csr> csr = Csr{.rows = rows, .cols = cols};
  bool valid = false;
  if (coding == bitmap) valid = read_bitmap(*csr, nonzeros, bytes);
  if (coding == gaps) valid = read_numbers(*csr, nonzeros, bytes, column_of_gap);
  if (coding == steps) valid = read_numbers(*csr, nonzeros, bytes, column_of_step);
  if (!valid) csr.reset();
  return csr;
}

}  // namespace vostok::sparse
