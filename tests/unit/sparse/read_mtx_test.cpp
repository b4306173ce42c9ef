#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

Csr read_text(const std::string& content) {
  const TemporaryFolder folder;
  return read(folder.write("a.mtx", content));
}

void check_refused(ErrorCode code, const std::string& content, std::vector<std::string> parts) {
  INFO("content: ", content);
  parts.emplace_back("a.mtx");
  testing::check_refused(code, parts, [&] { read_text(content); });
}

void check_malformed(const std::string& content, const std::vector<std::string>& parts) {
  check_refused(ErrorCode::invalid_topology, content, parts);
}

const std::string general = "%%MatrixMarket matrix coordinate real general\n";

}  // namespace

TEST_CASE("Matrix Market entries in any order become sorted rows with their values") {
  const Csr csr = read_text(general + "% a comment\n%\n\n3 4 4\n3 2 2.5\n1 4 -1e-3\n1 1 +7\n\n 3 1 0\n");
  CHECK(csr.rows == 3);
  CHECK(csr.cols == 4);
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 2, 2, 4});
  CHECK(csr.column_indices == std::vector<std::int32_t>{0, 3, 0, 1});
  CHECK(csr.values == std::vector<double>{7, -1e-3, 0, 2.5});
  CHECK(csr.note == "real");
}

TEST_CASE("a symmetric pattern is expanded and says so") {
  const Csr csr = read_text("%%matrixmarket MATRIX Coordinate Pattern Symmetric\n3 3 3\n1 1\n3 1\n3 2\n");
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 2, 3, 5});
  CHECK(csr.column_indices == std::vector<std::int32_t>{0, 2, 2, 0, 1});
  CHECK(csr.values.empty());
  CHECK(csr.note == "pattern, symmetric, expanded");
}

TEST_CASE("a skew-symmetric matrix is expanded with the sign turned") {
  const Csr csr = read_text("%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -4\n");
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 2, 3, 4});
  CHECK(csr.column_indices == std::vector<std::int32_t>{1, 2, 0, 0});
  CHECK(csr.values == std::vector<double>{-5, 4, 5, -4});
  CHECK(csr.note == "integer, skew-symmetric, expanded");
}

TEST_CASE("repeated Matrix Market entries stay, in file order") {
  const Csr csr = read_text(general + "1 2 3\n1 2 1\n1 1 2\n1 2 3\n");
  CHECK(csr.column_indices == std::vector<std::int32_t>{0, 1, 1});
  CHECK(csr.values == std::vector<double>{2, 1, 3});
}

TEST_CASE("Matrix Market kinds that are not read are refused by name") {
  check_refused(ErrorCode::unsupported, "%%MatrixMarket matrix elemental real general\n1 1\n3\n",
                {"format 'elemental'", "coordinate, array"});
  check_refused(ErrorCode::unsupported, "%%MatrixMarket matrix array real hermitian\n1 1\n3\n",
                {"symmetry 'hermitian'"});
  check_refused(ErrorCode::unsupported, "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n",
                {"field 'complex'"});
  check_refused(ErrorCode::unsupported, "%%MatrixMarket matrix coordinate real hermitian\n", {"symmetry 'hermitian'"});
  check_refused(ErrorCode::unsupported, "%%MatrixMarket vector coordinate real general\n", {"object 'vector'"});
}

TEST_CASE("a malformed Matrix Market file is refused with its line and value") {
  check_malformed("", {"line 1", "%%MatrixMarket"});
  check_malformed("1 1 1\n", {"line 1", "found '1'"});
  check_malformed(general, {"the number of rows", "end of the file"});
  check_malformed(general + "2 2\n", {"line 2", "the number of entries"});
  check_malformed(general + "2 2 2\n1 1 1\n", {"entry 2 of 2", "end of the file"});
  check_malformed(general + "2 2 1\n3 1 1\n", {"line 3", "row is 3, outside [1, 2]"});
  check_malformed(general + "2 2 1\n1 0 1\n", {"line 3", "column is 0, outside [1, 2]"});
  check_malformed(general + "2 2 1\n1 1\n", {"line 3", "a value", "end of the line"});
  check_malformed(general + "2 2 1\n1 1 x\n", {"line 3", "'x'"});
  check_malformed(general + "2 2 1\n1 1 1 1\n", {"line 3", "unexpected '1'"});
  check_malformed(general + "2 2 1\n1 1 1\n2 2 2\n", {"line 4", "unexpected '2'", "1 entries"});
  check_malformed(general + "-2 2 1\n", {"the number of rows is -2"});
  check_malformed(general + "2 4294967296 1\n", {"the number of columns is 4294967296"});
  check_malformed("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", {"line 3", "'.5'"});
  check_malformed("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", {"not 2 x 3"});
  check_malformed("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n",
                  {"row 1, column 2", "above the diagonal"});
  check_malformed("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", {"row 2", "diagonal"});
  check_malformed("%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 0\n", {"pattern"});
}

TEST_CASE("an array of Matrix Market is read column by column, and its zeros are dropped") {
  const Csr csr = read_text("%%MatrixMarket matrix array real general\n% a comment\n2 3\n1\n0\n-0.0\n4\n5e-1\n6\n");
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 2, 4});
  CHECK(csr.column_indices == std::vector<std::int32_t>{0, 2, 1, 2});
  CHECK(csr.values == std::vector<double>{1, 0.5, 4, 6});
  CHECK(csr.note == "dense real, 2 zeros dropped");

  const Csr symmetric = read_text("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
  CHECK(symmetric.values == std::vector<double>{1, 2, 2, 3});
  CHECK(symmetric.note == "dense integer, 0 zeros dropped, symmetric, expanded");
  const Csr skew = read_text("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
  CHECK(skew.row_offsets == std::vector<std::int64_t>{0, 2, 4, 6});
  CHECK(skew.values == std::vector<double>{-1, -2, 1, -3, 2, 3});
  CHECK(read_text("%%MatrixMarket matrix array real general\n0 3\n").rows == 0);

  check_malformed("%%MatrixMarket matrix array real general\n2 3\n1\n2\n", {"element 3 of 6", "end of the file"});
  check_malformed("%%MatrixMarket matrix array real general\n1 1\n1\n2\n", {"line 4", "unexpected '2'", "1 elements"});
  check_malformed("%%MatrixMarket matrix array real general\n1 1 1\n2\n", {"line 2", "unexpected '1'"});
  check_malformed("%%MatrixMarket matrix array real symmetric\n2 3\n", {"not 2 x 3"});
  check_malformed("%%MatrixMarket matrix array pattern general\n2 3\n", {"pattern"});
}

TEST_CASE("fields and numbers as other writers spell them are read") {
  for (const char* field : {"real", "double", "Double"})
    CHECK(read_text(fmt::format("%%MatrixMarket matrix coordinate {} general\n1 2 2\n1 1 1.25\n1 2 +7.\n", field))
              .values == std::vector<double>{1.25, 7});
  const Csr whole = read_text(
      "%%MatrixMarket matrix coordinate unsigned-integer general\n%\n1 3 3\n1 1 255\n1 2 18446744073709551615\n1 3 "
      "+1\n");
  CHECK(whole.values == std::vector<double>{255, 0x1p64, 1});
  CHECK(whole.note == "integer");
  const Csr tiny = read_text(
      general + "1 4 4\n1 1 1e-400\n1 2 -1e-400\n1 3 4.9406564584124654e-324\n1 4 0.00e99999999999999999999\n");
  CHECK(tiny.values == std::vector<double>{0, 0, 0x1p-1074, 0});
  CHECK(read_text("%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 1\n4 3\n").nonzeros() == 6);
  CHECK(std::isnan(read_text(general + "1 1 1\n1 1 nan\n").values.at(0)));

  check_malformed(general + "1 1 1\n1 1 1e400\n", {"line 3", "'1e400', which is too large"});
  check_malformed(general + "1 1 1\n1 1 +-1\n", {"line 3", "'+-1'"});
  check_malformed("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 18446744073709551616\n", {"too large"});
  check_malformed("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -9223372036854775809\n", {"too large"});
}

TEST_CASE("nothing unprintable of a Matrix Market file gets into a message") {
  check_malformed("\x1b[31mred", {"\\x1b[31mred"});
  check_malformed(general + "1 1 1\n1 1 \x9b\x07\n", {"\\x9b\\x07"});
  check_refused(ErrorCode::unsupported, "%%MatrixMarket matrix coordinate \x1b]0;x\x07 general\n", {"\\x1b]0;x\\x07"});
}

TEST_CASE("sizes that a Matrix Market header claims take no memory that is not there") {
  constexpr std::int64_t memory_bytes = std::int64_t{1} << 20;
  const auto refuse = [&](ErrorCode code, const std::string& text, const std::vector<std::string>& parts) {
    CAPTURE(text);
    testing::check_refused(code, parts,
                           [&] { parse_mtx({.bytes = text, .name = "claim.mtx", .memory_bytes = memory_bytes}); });
  };
  refuse(ErrorCode::out_of_memory, general + "2000000000 2000000000 1\n1 1 5\n",
         {"claim.mtx", "2000000000 rows", "15258.8 MiB", "1.0 MiB are free"});
  refuse(ErrorCode::out_of_memory, "%%MatrixMarket matrix array real general\n2000000000 0\n",
         {"claim.mtx", "2000000000 rows"});
  refuse(ErrorCode::invalid_topology, general + "2 2 9223372036854775807\n1 1 5\n",
         {"claim.mtx", "entry 2 of 9223372036854775807"});
  refuse(ErrorCode::out_of_memory, "%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n",
         {"claim.mtx", "2147483647 rows"});
  refuse(ErrorCode::invalid_topology, "%%MatrixMarket matrix array real general\n1 2147483647\n1\n",
         {"claim.mtx", "element 2 of 2147483647"});
  testing::check_refused(
      ErrorCode::out_of_memory, {"a.mtx", "200000000 rows", "1525.9 MiB", "bytes gets 1024.0 MiB"},
      [&] { parse_mtx({.bytes = general + "200000000 2 0\n", .name = "a.mtx", .memory_bytes = INT64_MAX}); });
  // Entries that are all there take more than their text.
  std::string many = general + "1 1 5000\n";
  for (int i = 0; i < 5000; ++i) many += "1 1 1\n";
  testing::check_refused(ErrorCode::out_of_memory, {"a.mtx", "1 rows and 5000 entries", "0.1 MiB are free"},
                         [&] { parse_mtx({.bytes = many, .name = "a.mtx", .memory_bytes = 150'000}); });
  CHECK(parse_mtx({.bytes = many, .name = "a.mtx", .memory_bytes = memory_bytes}).nonzeros() == 5000);
  const std::string wide_text = general + "1 2147483647 1\n1 2147483647 5\n";
  const Csr wide = parse_mtx({.bytes = wide_text, .name = "wide.mtx", .memory_bytes = memory_bytes});
  CHECK(wide.column_indices == std::vector<std::int32_t>{2147483646});
}

TEST_CASE("random entries in random order are all found again") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed ", seed);
    Random random(seed);
    const std::int64_t rows = 1 + random.below(40), cols = 1 + random.below(40), count = random.below(200);
    std::map<std::pair<std::int64_t, std::int64_t>, double> sums;
    std::string text = general + fmt::format("{} {} {}\n", rows, cols, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = random.below(rows), col = random.below(cols), value = random.below(1000) - 500;
      sums[{row, col}] += static_cast<double>(value);
      text += fmt::format("{} {} {}\n", row + 1, col + 1, value);
    }
    const Csr csr = read_text(text);
    CHECK(csr.nonzeros() == count);
    CHECK(statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices).sorted);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = csr.row_offsets[row]; i < csr.row_offsets[row + 1]; ++i)
        sums[{row, csr.column_indices[i]}] -= csr.values[i];
    }
    CHECK(std::all_of(sums.begin(), sums.end(), [](const auto& sum) { return sum.second == 0; }));
  }
}

TEST_CASE("the citation graphs are read and expanded") {
  std::filesystem::path data;
  if (!testing::find_data(data)) return;
  const Csr cora = read(data / "graphs" / "cora.mtx");
  CHECK(cora.rows == 2708);
  CHECK(cora.note == "real, symmetric, expanded");
  CHECK(cora.nonzeros() == 13264);  // 7986 entries, 2708 of them on the diagonal
  for (const char* name : {"citeseer.mtx", "pubmed.mtx"}) CHECK(read(data / "graphs" / name).nonzeros() > 4676);
}
