#include <doctest/doctest.h>

#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "sparse/write.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

const std::string good = "3, 4, 5\n0 2 2 5\n0 3 1 2 3\n";

void check_malformed(const std::string& content, std::vector<std::string> parts) {
  const TemporaryFolder folder;
  const auto file = folder.write("bad.smtx", content);
  INFO("content: ", content);
  parts.push_back(file.string());
  testing::check_refused(ErrorCode::invalid_topology, parts, [&] { read(file); });
}

}  // namespace

TEST_CASE("an smtx file is read as a pattern, with commas, blanks and line ends of any kind") {
  const TemporaryFolder folder;
  for (const std::string& content :
       {good, std::string("3 4 5\n0 2 2 5\n0 3 1 2 3"), std::string("3,4,5 \r\n 0 2 2 5 \r\n0 3 1 2 3\r\n\r\n\n")}) {
    INFO(content);
    const Csr csr = read(folder.write("good.smtx", content));
    CHECK(csr.rows == 3);
    CHECK(csr.cols == 4);
    CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 2, 2, 5});
    CHECK(csr.column_indices == std::vector<std::int32_t>{0, 3, 1, 2, 3});
    CHECK(csr.values.empty());
    CHECK(csr.note == "pattern");
  }
}

TEST_CASE("an smtx file without nonzeros may leave its index line out") {
  const TemporaryFolder folder;
  for (const char* content : {"2, 3, 0\n0 0 0\n\n", "2, 3, 0\n0 0 0\n", "2, 3, 0\n0 0 0"}) {
    const Csr csr = read(folder.write("none.smtx", content));
    CHECK(csr.rows == 2);
    CHECK(csr.nonzeros() == 0);
  }
}

TEST_CASE("an empty smtx file is refused") {
  check_malformed("", {"line 1", "the number of rows", "the end of the file"});
}

TEST_CASE("a truncated smtx file is refused with what is missing, wherever it ends") {
  check_malformed("3, 4", {"line 1", "the number of nonzeros", "end of the file"});
  check_malformed("3, 4, 5\n0 2", {"line 2", "row offset 2 of 3 rows"});
  check_malformed("3, 4, 5\n0 2 2 5\n", {"column index 0 of 5", "row 0"});
  check_malformed("3, 4, 5\n0 2 2 5\n0 3 1", {"line 3", "column index 3 of 5", "row 2"});
  const TemporaryFolder folder;
  for (std::size_t length = 0; length + 2 < good.size();
       ++length) {  // less than the last number and the line end behind it
    INFO("after ", length, " bytes");
    const auto file = folder.write("cut.smtx", good.substr(0, length));
    testing::check_refused(ErrorCode::invalid_topology, {file.string()}, [&] { read(file); });
  }
}

TEST_CASE("a non-monotone smtx file is refused with row and value") {
  check_malformed("3, 4, 5\n0 4 2 5\n0 3 1 2 3\n", {"decrease at row 1", "starts at 4 and ends at 2"});
  check_malformed("3, 4, 5\n1 2 2 5\n0 3 1 2 3\n", {"row 0 starts at 1"});
}

TEST_CASE("an out-of-range smtx file is refused with row and value") {
  check_malformed("3, 4, 5\n0 2 2 5\n0 3 1 4 3\n", {"row 2 has column 4", "[0, 4)"});
  check_malformed("3, 4, 5\n0 2 2 5\n0 -3 1 2 3\n", {"row 0 has column -3"});
  check_malformed("3, 4, 5\n0 2 2 5\n0 3 99999999999 2 3\n", {"row 2 has column 99999999999"});
  check_malformed("3, 4, 5\n0 2 2 6\n0 3 1 2 3\n", {"row 2 ends at 6", "5 column indices"});
  check_malformed("3, 4, 5\n0 2 2 4\n0 3 1 2 3\n", {"is 4", "5 column indices"});
}

TEST_CASE("anything after the indices of an smtx file is refused") {
  check_malformed("3, 4, 5\n0 2 2 5\n0 3 1 2 3 1\n", {"line 3", "unexpected '1'"});
  check_malformed("3, 4, 5\n0 2 2 5\n0 3 1 2 3\nmore\n", {"line 4", "unexpected 'more'"});
  check_malformed("3, 4, 5\n0 2 2 5 5\n0 3 1 2 3\n", {"line 2", "unexpected '5'"});
  check_malformed("3, 4, 5, 6\n0 2 2 5\n0 3 1 2 3\n", {"line 1", "unexpected ','"});
}

TEST_CASE("an smtx file with anything but whole numbers is refused with what was found") {
  check_malformed("three, 4, 5\n", {"line 1", "'three,'"});
  check_malformed("-3, 4, 5\n", {"the number of rows is -3"});
  check_malformed("3, 4, 5\n0 2 x 5\n0 3 1 2 3\n", {"line 2", "row offset 2", "'x'"});
  check_malformed("3, 4, 5\n0 2 2 5\n0 1.5 1 2 3\n", {"line 3", "'.5'"});
  check_malformed("3, 4, 99999999999999999999\n", {"too large"});
  check_malformed("3, 9999999999, 5\n", {"9999999999 columns do not fit"});
  check_malformed("9000000000000000000, 4, 9000000000000000000\n0 2\n", {"row offset 2"});
}

TEST_CASE("a missing file, a folder and an unknown extension are told apart") {
  const TemporaryFolder folder;
  testing::check_refused(ErrorCode::io_failure, {"absent.smtx", "No such file"}, [&] { read(folder / "absent.smtx"); });
  std::filesystem::create_directory(folder / "folder.smtx");
  testing::check_refused(ErrorCode::io_failure, {"folder.smtx", "directory"}, [&] { read(folder / "folder.smtx"); });
  testing::check_refused(ErrorCode::io_failure, {"absent.txt", "No such file"}, [&] { read(folder / "absent.txt"); });
  const auto other = folder.write("matrix.txt", good);
  testing::check_refused(ErrorCode::invalid_argument, {"matrix.txt", "'.txt'", ".smtx, .mtx, .npy"},
                         [&] { read(other); });
}

TEST_CASE("random structures survive being written and read") {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed ", seed);
    Random random(seed);
    const std::int64_t rows = random.below(60), cols = 1 + random.below(3000);
    const Csr csr = uniform(rows, cols, random.uniform(), seed, 2 * random.uniform());
    write_smtx(folder / "random.smtx", csr);
    const Csr again = read(folder / "random.smtx");
    CHECK(again.rows == rows);
    CHECK(again.cols == cols);
    CHECK(again.row_offsets == csr.row_offsets);
    CHECK(again.column_indices == csr.column_indices);
  }
}

TEST_CASE("writing where nothing can be written is an error") {
  testing::check_refused(ErrorCode::io_failure, {"/dev/full"},
                         [] { write_smtx("/dev/full", uniform(64, 64, 0.5, 1)); });
  testing::check_refused(ErrorCode::io_failure, {"absent", "No such file"},
                         [] { write_smtx("/absent/folder/a.smtx", Csr{}); });
}

TEST_CASE("all real smtx files are read") {
  std::filesystem::path data;
  if (!testing::find_data(data)) return;
  const auto files = testing::files_below(data / "dlmc", ".smtx");
  CHECK(files.size() == 80);
  for (const auto& file : files) {
    INFO(file.string());
    const Csr csr = read(file);
    CHECK_NOTHROW(validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "it"));
    CHECK(csr.rows > 0);
  }
}
