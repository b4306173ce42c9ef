#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "sparse/read.hpp"
#include "sparse/text_file.hpp"

namespace vostok::sparse {
namespace {

enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric };

struct Banner {
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

/// The entries in file order, expanded.
struct Entries {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> col;
  std::vector<double> value;  // empty for a pattern

  void add(std::int64_t at_row, std::int64_t at_col, const double* at_value) {
    row.push_back(static_cast<std::int32_t>(at_row));
    col.push_back(static_cast<std::int32_t>(at_col));
    if (at_value != nullptr) value.push_back(*at_value);
  }
};

std::string lower_word(Scanner& scanner) {
  std::string word(scanner.word());
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return word;
}

[[noreturn]] void refuse_kind(const Scanner& scanner, const char* part, const std::string& kind, const char* known) {
  fail(ErrorCode::unsupported, "cannot read {}: Matrix Market {} '{}' is not read, only {}", scanner.file(), part, kind, known);
}

Banner read_banner(Scanner& scanner) {
  if (const std::string word = lower_word(scanner); word != "%%matrixmarket")
    scanner.refuse(fmt::format("expected %%MatrixMarket, found '{}'", word.substr(0, 40)));
  if (const std::string object = lower_word(scanner); object != "matrix") refuse_kind(scanner, "object", object, "matrix");
  if (const std::string format = lower_word(scanner); format != "coordinate") refuse_kind(scanner, "format", format, "coordinate");
  Banner banner;
  const std::string field = lower_word(scanner);
  if (field == "integer") {
    banner.field = Field::integer;
  } else if (field == "pattern") {
    banner.field = Field::pattern;
  } else if (field != "real") {
    refuse_kind(scanner, "field", field, "real, integer and pattern");
  }
  const std::string symmetry = lower_word(scanner);
  if (symmetry == "symmetric") {
    banner.symmetry = Symmetry::symmetric;
  } else if (symmetry == "skew-symmetric") {
    banner.symmetry = Symmetry::skew_symmetric;
  } else if (symmetry != "general") {
    refuse_kind(scanner, "symmetry", symmetry, "general, symmetric and skew-symmetric");
  }
  if (banner.field == Field::pattern && banner.symmetry == Symmetry::skew_symmetric) scanner.refuse("a pattern cannot be skew-symmetric");
  scanner.end_line();
  return banner;
}

std::int64_t read_size(Scanner& scanner, const char* what) {
  const std::int64_t value = scanner.integer(what);
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) scanner.refuse(fmt::format("{} is {}, outside [0, 2^31)", what, value));
  return value;
}

std::int64_t read_position(Scanner& scanner, const char* what, std::int64_t end) {
  const std::int64_t position = scanner.integer(what);
  if (position < 1 || position > end) scanner.refuse(fmt::format("{} is {}, outside [1, {}]", what, position, end));
  return position - 1;
}

void read_entry(Scanner& scanner, const Banner& banner, Entries& entries) {
  const std::int64_t row = read_position(scanner, "row", entries.rows);
  const std::int64_t col = read_position(scanner, "column", entries.cols);
  const bool valued = banner.field != Field::pattern;
  double value = 0;
  if (banner.field == Field::real) value = scanner.number("a value");
  if (banner.field == Field::integer) value = static_cast<double>(scanner.integer("an integer value"));
  entries.add(row, col, valued ? &value : nullptr);
  if (banner.symmetry == Symmetry::general) return;
  if (row < col) scanner.refuse(fmt::format("row {}, column {} lies above the diagonal of a symmetric matrix", row + 1, col + 1));
  const bool skew = banner.symmetry == Symmetry::skew_symmetric;
  if (skew && row == col) scanner.refuse(fmt::format("row {} has a diagonal value in a skew-symmetric matrix", row + 1));
  const double mirrored = skew ? -value : value;
  if (row != col) entries.add(col, row, valued ? &mirrored : nullptr);
}

Entries read_entries(Scanner& scanner, const Banner& banner) {
  Entries entries;
  entries.rows = read_size(scanner, "the number of rows");
  entries.cols = read_size(scanner, "the number of columns");
  const std::int64_t count = scanner.integer("the number of entries");
  if (count < 0) scanner.refuse(fmt::format("the number of entries is {}", count));
  scanner.end_line();
  if (banner.symmetry != Symmetry::general && entries.rows != entries.cols)
    scanner.refuse(fmt::format("a symmetric matrix is not {} x {}", entries.rows, entries.cols));
  for (std::int64_t i = 0; i < count; ++i) {
    if (scanner.at_end()) scanner.refuse(fmt::format("expected entry {} of {}, found the end of the file", i + 1, count));
    read_entry(scanner, banner, entries);
    scanner.end_line();
  }
  if (!scanner.at_end()) scanner.refuse(fmt::format("unexpected '{}' after the {} entries", scanner.word().substr(0, 40), count));
  return entries;
}

/// Where each of the keys 0 .. end - 1 begins when sorted, and `end` at last.
std::vector<std::int64_t> begins(const std::vector<std::int32_t>& keys, std::int64_t end) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(end) + 1, 0);
  for (const std::int32_t key : keys) ++offsets[key + 1L];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

/// `order` sorted by keys, stable.
std::vector<std::int64_t> sort_by(const std::vector<std::int32_t>& keys, std::vector<std::int64_t> next, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> sorted(order.size());
  for (const std::int64_t i : order) sorted[next[keys[i]]++] = i;
  return sorted;
}

Csr compress(const Entries& entries) {
  std::vector<std::int64_t> order(entries.row.size());
  std::iota(order.begin(), order.end(), 0);
  Csr csr{.rows = entries.rows, .cols = entries.cols, .row_offsets = begins(entries.row, entries.rows)};
  order = sort_by(entries.col, begins(entries.col, entries.cols), order);
  order = sort_by(entries.row, csr.row_offsets, order);
  csr.column_indices.reserve(order.size());
  csr.values.reserve(entries.value.size());
  for (const std::int64_t i : order) {
    csr.column_indices.push_back(entries.col[i]);
    if (!entries.value.empty()) csr.values.push_back(entries.value[i]);
  }
  return csr;
}

std::string note_of(const Banner& banner) {
  std::string note = banner.field == Field::pattern ? "pattern" : banner.field == Field::integer ? "integer" : "real";
  if (banner.symmetry == Symmetry::symmetric) note += ", symmetric, expanded";
  if (banner.symmetry == Symmetry::skew_symmetric) note += ", skew-symmetric, expanded";
  return note;
}

}  // namespace

Csr read_mtx(const std::filesystem::path& path) {
  const std::string text = read_bytes(path);
  Scanner scanner(text, path.string());
  const Banner banner = read_banner(scanner);
  while (!scanner.at_end() && scanner.skip('%')) scanner.skip_line();
  Csr csr = compress(read_entries(scanner, banner));
  csr.note = note_of(banner);
  return csr;
}

}  // namespace vostok::sparse
