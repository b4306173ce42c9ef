#include <limits>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "sparse/entries.hpp"
#include "sparse/read.hpp"
#include "sparse/scanner.hpp"

namespace vostok::sparse {
namespace {

enum class Format { coordinate, array };  // an array holds every element, column by column
enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric };

struct Banner {
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

/// A word of the banner, and what it means: two may mean one thing.
template <class Kind>
struct Known {
  std::string_view word;
  Kind kind;
};

/// Letters are those of ASCII: what tolower makes of an I depends on the locale.
std::string lower_word(Scanner& scanner) {
  std::string word(scanner.word());
  for (char& letter : word)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return word;
}

template <class Kind, std::size_t Count>
Kind read_kind(Scanner& scanner, const char* part, const Known<Kind> (&known)[Count]) {
  const std::string word = lower_word(scanner);
  std::string words;
  for (const auto& [name, kind] : known) {
    if (name == word) return kind;
    words += (words.empty() ? "" : ", ") + std::string(name);
  }
  fail(ErrorCode::unsupported, "cannot read {}: Matrix Market {} '{}' is not read, only {}", scanner.file(), part,
       printable(word.substr(0, 40)), words);
}

void read_object(Scanner& scanner) {
  const std::string word = lower_word(scanner);
  if (word != "%%matrixmarket" && word != "%matrixmarket")  // some write one %
    scanner.refuse(fmt::format("expected %%MatrixMarket, found '{}'", word.substr(0, 40)));
  read_kind<bool>(scanner, "object", {{"matrix", true}});
}

Banner read_banner(Scanner& scanner) {
  read_object(scanner);
  Banner banner;
  banner.format = read_kind<Format>(scanner, "format", {{"coordinate", Format::coordinate}, {"array", Format::array}});
  banner.field = read_kind<Field>(scanner, "field",
                                  {{"real", Field::real},
                                   {"double", Field::real},
                                   {"integer", Field::integer},
                                   {"unsigned-integer", Field::integer},
                                   {"pattern", Field::pattern}});
  banner.symmetry = read_kind<Symmetry>(scanner, "symmetry",
                                        {{"general", Symmetry::general},
                                         {"symmetric", Symmetry::symmetric},
                                         {"skew-symmetric", Symmetry::skew_symmetric}});
  if (banner.field == Field::pattern && banner.symmetry == Symmetry::skew_symmetric)
    scanner.refuse("a pattern cannot be skew-symmetric");
  if (banner.field == Field::pattern && banner.format == Format::array)
    scanner.refuse("an array of all elements cannot be a pattern");
  scanner.end_line();
  return banner;
}

std::int64_t read_size(Scanner& scanner, const char* what) {
  const std::int64_t value = scanner.integer(what);
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    scanner.refuse(fmt::format("{} is {}, outside [0, 2^31)", what, value));
  return value;
}

Entries read_shape(Scanner& scanner, const Banner& banner) {
  Entries entries{.valued = banner.field != Field::pattern};
  entries.rows = read_size(scanner, "the number of rows");
  entries.cols = read_size(scanner, "the number of columns");
  if (banner.symmetry != Symmetry::general && entries.rows != entries.cols)
    scanner.refuse(fmt::format("a symmetric matrix is not {} x {}", entries.rows, entries.cols));
  return entries;
}

std::int64_t read_position(Scanner& scanner, const char* what, std::int64_t end) {
  const std::int64_t position = scanner.integer(what);
  if (position < 1 || position > end) scanner.refuse(fmt::format("{} is {}, outside [1, {}]", what, position, end));
  return position - 1;
}

double read_value(Scanner& scanner, Field field) {
  if (field == Field::pattern) return 1;
  return field == Field::integer ? scanner.whole_number("an integer value") : scanner.number("a value");
}

/// What stands at one place, and what that says of the place across the diagonal.
void add_expanded(Entries& entries, Symmetry symmetry, std::int64_t row, std::int64_t col, double value) {
  entries.add(row, col, value);
  if (symmetry != Symmetry::general && row != col)
    entries.add(col, row, symmetry == Symmetry::skew_symmetric ? -value : value);
}

void read_entry(Scanner& scanner, const Banner& banner, Entries& entries) {
  const std::int64_t row = read_position(scanner, "row", entries.rows);
  const std::int64_t col = read_position(scanner, "column", entries.cols);
  const double value = read_value(scanner, banner.field);
  if (banner.symmetry != Symmetry::general && row < col)
    scanner.refuse(fmt::format("row {}, column {} lies above the diagonal of a symmetric matrix", row + 1, col + 1));
  if (banner.symmetry == Symmetry::skew_symmetric && row == col)
    scanner.refuse(fmt::format("row {} has a diagonal value in a skew-symmetric matrix", row + 1));
  add_expanded(entries, banner.symmetry, row, col, value);
}

/// Room for what `count` lines of at least so many bytes can hold, whatever the header claims.
void reserve_lines(const Source& source, const Scanner& scanner, const Banner& banner, std::int64_t count,
                   std::int64_t bytes_each, Entries& entries) {
  const std::int64_t each = banner.symmetry == Symmetry::general ? 1 : 2;
  reserve(entries, each * scanner.at_most(count, bytes_each), source);
}

void require_line(Scanner& scanner, const char* what, std::int64_t index, std::int64_t count) {
  if (scanner.at_end())
    scanner.refuse(fmt::format("expected {} {} of {}, found the end of the file", what, index + 1, count));
}

void require_end(Scanner& scanner, const char* what, std::int64_t count) {
  if (!scanner.at_end())
    scanner.refuse(fmt::format("unexpected '{}' after the {} {}", scanner.shown_word(), count, what));
}

Entries read_coordinates(const Source& source, Scanner& scanner, const Banner& banner) {
  Entries entries = read_shape(scanner, banner);
  const std::int64_t count = scanner.integer("the number of entries");
  if (count < 0) scanner.refuse(fmt::format("the number of entries is {}", count));
  scanner.end_line();
  const std::int64_t shortest_line = entries.valued ? 6 : 4;  // "1 1 1" and a line end
  reserve_lines(source, scanner, banner, count, shortest_line, entries);
  for (std::int64_t i = 0; i < count; ++i) {
    require_line(scanner, "entry", i, count);
    read_entry(scanner, banner, entries);
    scanner.end_line();
  }
  require_end(scanner, "entries", count);
  return entries;
}

/// The elements of a dense matrix that are not zero. Of a symmetric one the file has the lower triangle alone.
Entries read_elements(const Source& source, Scanner& scanner, const Banner& banner) {
  Entries entries = read_shape(scanner, banner);
  scanner.end_line();
  const std::int64_t beside_diagonal = entries.rows * (entries.rows - 1) / 2;  // sizes have 31 bits
  const bool skew = banner.symmetry == Symmetry::skew_symmetric;
  const bool general = banner.symmetry == Symmetry::general;
  const std::int64_t count = general ? entries.rows * entries.cols
                             : skew  ? beside_diagonal
                                     : beside_diagonal + entries.rows;
  reserve_lines(source, scanner, banner, count, 2, entries);
  std::int64_t index = 0;
  for (std::int64_t col = 0; col < entries.cols; ++col) {
    for (std::int64_t row = general ? 0 : skew ? col + 1 : col; row < entries.rows; ++row) {
      require_line(scanner, "element", index++, count);
      const double value = read_value(scanner, banner.field);
      scanner.end_line();
      if (value != 0) add_expanded(entries, banner.symmetry, row, col, value);
    }
  }
  require_end(scanner, "elements", count);
  return entries;
}

std::string note_of(const Banner& banner, const Csr& csr) {
  std::string note = banner.field == Field::pattern ? "pattern" : banner.field == Field::integer ? "integer" : "real";
  if (banner.format == Format::array)
    note = fmt::format("dense {}, {} zeros dropped", note, csr.rows * csr.cols - csr.nonzeros());
  if (banner.symmetry == Symmetry::symmetric) note += ", symmetric, expanded";
  if (banner.symmetry == Symmetry::skew_symmetric) note += ", skew-symmetric, expanded";
  return note;
}

Csr from_mtx(const Source& source) {
  Scanner scanner(source.bytes, source.name);
  const Banner banner = read_banner(scanner);
  while (!scanner.at_end() && scanner.skip('%')) scanner.skip_line();
  const bool dense = banner.format == Format::array;
  Csr csr = compress(dense ? read_elements(source, scanner, banner) : read_coordinates(source, scanner, banner));
  csr.note = note_of(banner, csr);
  return csr;
}

}  // namespace

Csr parse_mtx(const Source& source) {
  return read_named(source, [&] { return from_mtx(source); });
}

}  // namespace vostok::sparse
