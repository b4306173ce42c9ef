#include <limits>

#include "base/text.hpp"
#include "sparse/read.hpp"
#include "sparse/scanner.hpp"

namespace vostok::sparse {
namespace {

struct Header {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nonzeros = 0;
};

Header read_header(Scanner& scanner) {
  const auto size = [&](const char* what) {
    const std::int64_t value = scanner.integer(what);
    if (value < 0) scanner.refuse(fmt::format("{} is {}", what, value));
    return value;
  };
  Header header;
  header.rows = size("the number of rows");
  scanner.skip(',');
  header.cols = size("the number of columns");
  scanner.skip(',');
  header.nonzeros = size("the number of nonzeros");
  scanner.end_line();
  if (header.cols > std::numeric_limits<std::int32_t>::max())
    scanner.refuse(fmt::format("{} columns do not fit in 32 bits", header.cols));
  return header;
}

/// Room for what the file can hold, whatever its header claims: a number takes two bytes.
template <class Number>
void reserve_numbers(const Source& source, const Scanner& scanner, std::int64_t count, const char* what,
                     std::vector<Number>& numbers) {
  const std::int64_t most = scanner.at_most(count, 2);
  require_memory(source, most * static_cast<std::int64_t>(sizeof(Number)), fmt::format("{} {}", most, what));
  numbers.reserve(static_cast<std::size_t>(most) + 1);  // rows have one offset more
}

std::vector<std::int64_t> read_offsets(const Source& source, Scanner& scanner, const Header& header) {
  std::vector<std::int64_t> offsets;
  reserve_numbers(source, scanner, header.rows, "row offsets", offsets);
  for (std::int64_t row = 0; row <= header.rows; ++row) {
    if (scanner.at_line_end())
      scanner.refuse(fmt::format("expected row offset {} of {} rows, found the end of the line", row, header.rows));
    offsets.push_back(scanner.integer("row offset", row));
  }
  scanner.end_line();
  return offsets;
}

std::vector<std::int32_t> read_columns(const Source& source, Scanner& scanner, const Header& header,
                                       const std::vector<std::int64_t>& offsets) {
  std::vector<std::int32_t> columns;
  reserve_numbers(source, scanner, header.nonzeros, "column indices", columns);
  for (std::int64_t row = 0; row < header.rows; ++row) {
    for (std::int64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      if (scanner.at_line_end())
        scanner.refuse(
            fmt::format("expected column index {} of {} (row {}), found the end of the line", i, header.nonzeros, row));
      const std::int64_t column = scanner.integer("column index", i);
      validate_column(row, column, header.cols, scanner.file());
      columns.push_back(static_cast<std::int32_t>(column));
    }
  }
  return columns;
}

Csr from_smtx(const Source& source) {
  Scanner scanner(source.bytes, source.name);
  const Header header = read_header(scanner);
  Csr csr{.rows = header.rows, .cols = header.cols, .note = "pattern"};
  csr.row_offsets = read_offsets(source, scanner, header);
  validate_offsets(header.rows, csr.row_offsets, header.nonzeros, scanner.file());
  csr.column_indices = read_columns(source, scanner, header, csr.row_offsets);
  if (!scanner.at_end())
    scanner.refuse(fmt::format("unexpected '{}' after the {} column indices", scanner.shown_word(), header.nonzeros));
  return csr;
}

}  // namespace

Csr parse_smtx(const Source& source) {
  return read_named(source, [&] { return from_smtx(source); });
}

}  // namespace vostok::sparse
