#include <doctest/doctest.h>

#include "sparse/inflate.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/archive.hpp"
#include "unit/sparse/files.hpp"
#include "unit/sparse/npy_file.hpp"

using namespace vostok;
using namespace vostok::sparse;
using testing::bytes_of;
using testing::gzipped;
using testing::npy;
using testing::ZipMembers;
using testing::zipped;
using testing::ZipStyle;

namespace {

const std::string pattern = "3, 4, 4\n0 2 2 4\n1 3 0 2\n";
const std::vector<std::int64_t> offsets = {0, 2, 2, 4};
const std::vector<std::int32_t> columns = {1, 3, 0, 2};
const std::vector<double> values = {1.5, -2, 4, 0.25};

/// Without zlib there is one thing to test: that the file is refused by name.
bool without_zlib() {
  if (can_inflate()) return false;
  const TemporaryFolder folder;
  for (const auto& file :
       {folder.write("a.mtx.gz", gzipped("%")), folder.write("a.npz", zipped({{"format.npy", "x"}}))})
    testing::check_refused(ErrorCode::unsupported, {file.string(), "without zlib"}, [&] { read(file); });
  MESSAGE("skipped: the library was built without zlib");
  return true;
}

template <class Element>
std::string list(const std::string& type, const std::vector<Element>& elements) {
  return npy(testing::header(type, fmt::format("{},", elements.size())), bytes_of(elements));
}

ZipMembers csr_members() {
  return {{"indices.npy", list("<i4", columns)},
          {"indptr.npy", list("<i8", offsets)},
          {"format.npy", npy(testing::header("|S3", ""), "csr")},
          {"shape.npy", list("<i8", std::vector<std::int64_t>{3, 4})},
          {"data.npy", list("<f8", values)}};
}

/// The members, one of them another.
ZipMembers with(ZipMembers members, const std::string& name, const std::string& content) {
  for (auto& member : members)
    if (member.first == name) member.second = content;
  return members;
}

void check_matrix(const Csr& csr) {
  CHECK(csr.rows == 3);
  CHECK(csr.cols == 4);
  CHECK(csr.row_offsets == offsets);
  CHECK(csr.column_indices == columns);
}

Csr read_bytes_of(const std::string& bytes, const std::string& name) { return parse({.bytes = bytes, .name = name}); }

void refuse_npz(ErrorCode code, const std::string& bytes, std::vector<std::string> parts) {
  parts.emplace_back("a.npz");
  testing::check_refused(code, parts, [&] { read_bytes_of(bytes, "a.npz"); });
}

}  // namespace

TEST_CASE("matrices as gzip and SciPy pack them are read") {
  if (without_zlib()) return;
  const std::filesystem::path data = VOSTOK_SOURCE_FOLDER "/tests/unit/sparse/data";
  check_matrix(read(data / "layer.smtx.gz"));
  for (const std::string format : {"csr", "csc", "coo"}) {
    CAPTURE(format);
    const Csr csr = read(data / ("scipy_" + format + ".npz"));
    check_matrix(csr);
    CHECK(csr.values == values);
    CHECK(csr.note == "SciPy's " + format + ", <f4");
  }
}

TEST_CASE("a gzip file of any known kind and of several parts is read as what is inside") {
  if (without_zlib()) return;
  check_matrix(read_bytes_of(gzipped(pattern), "a.smtx.gz"));
  check_matrix(read_bytes_of(
      gzipped(pattern.substr(0, 9)) + gzipped("") + gzipped(pattern.substr(9)) + std::string(512, '\0'), "a.smtx.gz"));
  CHECK(read_bytes_of(gzipped("%%MatrixMarket matrix array real general\n1 1\n5\n"), "a.mtx.gz").values ==
        std::vector<double>{5});
  const std::string array =
      npy(testing::header("<f4", "1, 200000"), bytes_of(std::vector<float>(200000, 1)));  // many blocks
  CHECK(read_bytes_of(gzipped(array), "a.npy.gz").nonzeros() == 200000);
  testing::check_refused(ErrorCode::unsupported, {"a.smtx.gz.gz", "packed twice"},
                         [&] { read_bytes_of(gzipped(gzipped(pattern)), "a.smtx.gz.gz"); });
  testing::check_refused(ErrorCode::invalid_argument, {"a.txt.gz", "'.gz'", ".npy (each also as .gz)"},
                         [&] { read_bytes_of(gzipped(pattern), "a.txt.gz"); });
}

TEST_CASE("a damaged gzip file is refused, wherever it ends") {
  if (without_zlib()) return;
  const std::string whole = gzipped(pattern);
  const auto refuse = [](const std::string& bytes, const std::string& reason) {
    testing::check_refused(ErrorCode::invalid_topology, {"a.smtx.gz", "compressed data is damaged", reason},
                           [&] { read_bytes_of(bytes, "a.smtx.gz"); });
  };
  for (std::size_t length = 0; length < whole.size(); ++length) refuse(whole.substr(0, length), "it ends too early");
  std::string flipped = whole;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);
  refuse(flipped, "incorrect data check");
  refuse(whole + "more", "incorrect header check");
}

TEST_CASE("archives stored, deflated, in ZIP64 and with a comment hold the same matrix") {
  if (without_zlib()) return;
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      CAPTURE(deflate);
      CAPTURE(zip64);
      for (const char* comment : {"", "PK\5\6 is what a directory's end begins with"}) {
        const Csr csr =
            read_bytes_of(zipped(csr_members(), {.deflate = deflate, .zip64 = zip64, .comment = comment}), "a.npz");
        check_matrix(csr);
        CHECK(csr.values == values);
      }
    }
  }
  const Csr unsorted =
      read_bytes_of(zipped(with(with(csr_members(), "indices.npy", list("<u2", std::vector<std::uint16_t>{3, 1, 0, 2})),
                                "data.npy", list("<f8", std::vector<double>{-2, 1.5, 4, 0.25}))),
                    "a.npz");
  check_matrix(unsorted);
  CHECK(unsorted.values == values);
  const Csr flags = read_bytes_of(
      zipped(with(csr_members(), "data.npy", list("|b1", std::vector<std::uint8_t>{1, 1, 1, 1}))), "a.npz");
  check_matrix(flags);
  CHECK(flags.values.empty());
  CHECK(flags.note == "SciPy's csr, |b1, a pattern");
}

TEST_CASE("an archive that holds no CSR, CSC or COO matrix is refused with the reason") {
  if (without_zlib()) return;
  refuse_npz(ErrorCode::unsupported, zipped({{"a.npy", "x"}}), {"no format.npy"});
  refuse_npz(ErrorCode::unsupported, zipped(with(csr_members(), "format.npy", npy(testing::header("|S3", ""), "bsr"))),
             {"'bsr'", "csr, csc and coo"});
  refuse_npz(ErrorCode::unsupported, zipped(csr_members(), {.flags = 1}), {"format.npy is encrypted"});
  refuse_npz(ErrorCode::unsupported, zipped(csr_members(), {.method = 12}), {"method 12"});
  refuse_npz(ErrorCode::unsupported,
             zipped(with(csr_members(), "data.npy", list("<c8", std::vector<double>{1, 2, 3, 4}))),
             {"data.npy", "'<c8'"});
  const auto damaged = [](const std::string& name, const std::string& content, const std::string& reason) {
    CAPTURE(name);
    refuse_npz(ErrorCode::invalid_topology, zipped(with(csr_members(), name, content)), {"a.npz: " + name, reason});
  };
  damaged("indices.npy", list("<i4", std::vector<std::int32_t>{1, 3, 0, 4}), "element 3 is 4, outside [0, 4)");
  damaged("indices.npy", list("<i4", std::vector<std::int32_t>{1, -3, 0, 2}), "element 1 is -3, outside [0, 4)");
  damaged("indices.npy", list("<f8", values), "<f8, no integers");
  damaged("indptr.npy", list("<i8", std::vector<std::int64_t>{0, 2, 4}), "has 3 elements, not 4");
  damaged("indptr.npy", list("<i8", std::vector<std::int64_t>{0, 3, 2, 4}), "decreases from 3 to 2 at element 2");
  damaged("indptr.npy", list("<i8", std::vector<std::int64_t>{1, 2, 2, 4}), "element 0 is 1, outside [0, 1)");
  damaged("indptr.npy", list("<i8", std::vector<std::int64_t>{0, 2, 2, 3}), "ends at 3, not at the 4 indices");
  damaged("indptr.npy", list("<i8", std::vector<std::int64_t>{0, 2, 2, INT64_MAX}), "outside [0, 5)");
  damaged("data.npy", list("<f8", std::vector<double>{1, 2}), "has 2 elements, not 4");
  damaged("shape.npy", list("<i8", std::vector<std::int64_t>{3}), "has 1 elements, not 2");
  damaged("shape.npy", list("<i8", std::vector<std::int64_t>{3, std::int64_t{1} << 31}), "element 1 is 2147483648");
}

TEST_CASE("a damaged archive is refused, wherever it ends") {
  if (without_zlib()) return;
  for (const bool zip64 : {false, true}) {
    const std::string whole = zipped(csr_members(), {.zip64 = zip64});
    for (std::size_t length = 0; length < whole.size(); ++length)
      refuse_npz(ErrorCode::invalid_topology, whole.substr(0, length), {});
    refuse_npz(ErrorCode::invalid_topology, whole + "more", {"does not end like a ZIP archive"});
  }
  refuse_npz(ErrorCode::invalid_topology, zipped(csr_members(), {.checksum_change = 1}), {"format.npy", "checksum"});
  refuse_npz(ErrorCode::invalid_topology, zipped(csr_members(), {.deflate = false, .checksum_change = 1}),
             {"format.npy", "checksum"});
  refuse_npz(ErrorCode::invalid_topology, zipped(csr_members(), {.size_change = 1}), {"format.npy", "bytes, not"});
  refuse_npz(ErrorCode::invalid_topology, zipped(csr_members(), {.size_change = -1}), {"format.npy", "bytes, not"});
  refuse_npz(ErrorCode::invalid_topology, zipped(csr_members(), {.deflate = false, .size_change = 1}),
             {"format.npy", "is stored, but takes"});
}

TEST_CASE("what unpacks to more than the memory that is free is refused, and names its file") {
  if (without_zlib()) return;
  constexpr std::int64_t memory_bytes = std::int64_t{1} << 20;
  const std::string long_text = gzipped(pattern + std::string(800'000, '\n'));
  testing::check_refused(ErrorCode::out_of_memory, {"bomb.smtx.gz", "unpack to more than", "1048576 bytes of memory"},
                         [&] { parse({.bytes = long_text, .name = "bomb.smtx.gz", .memory_bytes = memory_bytes}); });
  check_matrix(read_bytes_of(long_text, "long.smtx.gz"));
  const std::string archive = zipped(csr_members(), {.zip64 = true, .size_change = std::int64_t{1} << 40});
  testing::check_refused(ErrorCode::out_of_memory, {"bomb.npz: format.npy", "unpacked bytes"},
                         [&] { parse({.bytes = archive, .name = "bomb.npz", .memory_bytes = memory_bytes}); });
  const std::string rows =
      zipped(with(csr_members(), "shape.npy", list("<i8", std::vector<std::int64_t>{2'000'000'000, 4})));
  testing::check_refused(ErrorCode::out_of_memory, {"bomb.npz", "2000000000 rows"},
                         [&] { parse({.bytes = rows, .name = "bomb.npz", .memory_bytes = memory_bytes}); });
}
