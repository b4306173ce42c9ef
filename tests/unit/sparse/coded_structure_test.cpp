// Structures in few bytes: what was coded comes back, small, and bytes of any origin are a structure of the sizes asked
// for, or nothing.
#include "sparse/coded_structure.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "sparse/generate.hpp"

using namespace vostok;
using sparse::code_structure;
using sparse::CodedStructure;
using sparse::decode_structure;

namespace {

constexpr std::uint64_t seed = 81;

/// Codes and decodes; the coding's name.
std::string check(const sparse::Csr& csr) {
  const CodedStructure coded = code_structure(csr);
  CHECK(sparse::knows_coding(coded.coding));
  const auto again = decode_structure(csr.rows, csr.cols, csr.nonzeros(), coded.coding, coded.bytes);
  REQUIRE(again);
  CHECK(again->row_offsets == csr.row_offsets);
  CHECK(again->column_indices == csr.column_indices);
  return coded.coding;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("a structure that was coded comes back, whatever its density, order and repeats") {
  INFO("seed " << seed);
  for (const double density : {0.01, 0.05, 0.1, 0.2, 0.5, 1.0}) {
    CAPTURE(density);
    check(sparse::uniform(37, 203, 1 - density, seed));
    check(sparse::uniform(64, 64, 1 - density, seed));
  }
  CHECK(check({.rows = 2, .cols = 9, .row_offsets = {0, 3, 5}, .column_indices = {8, 0, 3, 1, 7}}) == "steps");
  CHECK(check({.rows = 2, .cols = 9, .row_offsets = {0, 3, 5}, .column_indices = {0, 3, 3, 1, 7}}) == "steps");
  constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max() - 1;
  CHECK(check({.rows = 1, .cols = std::int64_t{last} + 1, .row_offsets = {0, 2}, .column_indices = {0, last}}) ==
        "gaps");
  CHECK(check({.rows = 1, .cols = std::int64_t{last} + 1, .row_offsets = {0, 3}, .column_indices = {last, 0, last}}) ==
        "steps");
}

TEST_CASE("matrices without rows, columns or nonzeros are coded too") {
  check({.rows = 0, .cols = 0});
  check({.rows = 0, .cols = 5});
  check({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  check({.rows = 3, .cols = 4000, .row_offsets = {0, 0, 0, 0}});
  check({.rows = 3, .cols = 1, .row_offsets = {0, 0, 1, 1}, .column_indices = {0}});
}

TEST_CASE(
    "a coded structure takes a bit an element where every eighth is there, and a byte a nonzero where fewer are") {
  const auto coded_bytes = [](double sparsity) {
    return static_cast<double>(code_structure(sparse::uniform(256, 1024, sparsity, seed)).bytes.size());
  };
  constexpr double elements = 256 * 1024;
  CHECK(code_structure(sparse::uniform(256, 1024, 0.5, seed)).coding == "bitmap");
  CHECK(coded_bytes(0.5) == elements / 8);
  CHECK(coded_bytes(0.7) == elements / 8);
  CHECK(code_structure(sparse::uniform(256, 1024, 0.9, seed)).coding == "gaps");
  CHECK(coded_bytes(0.9) < 1.03 * 0.1 * elements);
  CHECK(coded_bytes(0.98) < 1.15 * 0.02 * elements + 2 * 256);
}

TEST_CASE("bytes that are no structure of the sizes asked for are nothing") {
  const auto refused = [](std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, const char* coding,
                          const std::vector<std::byte>& bytes) {
    CAPTURE(coding);
    CHECK_FALSE(decode_structure(rows, cols, nonzeros, coding, bytes));
  };
  CHECK(decode_structure(2, 4, 3, "gaps", bytes_of({2, 0, 1, 1, 3})));
  refused(2, 4, 3, "gaps", bytes_of({2, 0, 1, 1}));                     // cut short
  refused(2, 4, 3, "gaps", bytes_of({2, 0, 1, 1, 3, 0}));               // something behind
  refused(2, 4, 4, "gaps", bytes_of({2, 0, 1, 1, 3, 0}));               // fewer than promised
  refused(2, 4, 2, "gaps", bytes_of({2, 0, 1, 1, 3}));                  // more than promised
  refused(2, 3, 3, "gaps", bytes_of({2, 0, 1, 1, 3}));                  // a column past the last
  refused(2, 4, 3, "gaps", bytes_of({2, 0, 1, 1, 0x83}));               // a number without an end
  refused(1, 4, 1, "gaps", bytes_of({1, 128, 128, 128, 128, 128, 0}));  // of six bytes
  refused(1, 4, 1, "steps", bytes_of({1, 1}));                          // before column 0
  CHECK(decode_structure(1, 4, 2, "steps", bytes_of({2, 6, 5})));       // 3, then 3 back
  refused(1, 4, 2, "steps", bytes_of({2, 6, 7}));
  CHECK(decode_structure(2, 4, 3, "bitmap", bytes_of({0b0101, 0b1000})));
  refused(2, 4, 3, "bitmap", bytes_of({0b0101, 0b10000}));  // a column past the last
  refused(2, 4, 3, "bitmap", bytes_of({0b0101, 0b1001}));
  refused(2, 4, 3, "bitmap", bytes_of({0b0101, 0b0000}));
  refused(2, 4, 3, "bitmap", bytes_of({0b0101}));
  refused(2, 4, 3, "bitmap", bytes_of({0b0101, 0b1000, 0}));
  refused(2, 0, 0, "bitmap", {});
  refused(2, 4, 3, "words", bytes_of({2, 0, 1, 1, 3}));
  refused(-1, 4, 0, "gaps", {});
  refused(0, -1, 0, "gaps", {});
  refused(0, 4, -1, "gaps", {});
  refused(0, std::int64_t{1} << 40, 0, "gaps", {});
}

TEST_CASE("sizes that few bytes cannot stand for are refused before memory is taken for them") {
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max() - 1;
  for (const char* coding : {"bitmap", "gaps", "steps"}) {
    CAPTURE(coding);
    CHECK_FALSE(decode_structure(many, many, std::numeric_limits<std::int64_t>::max(), coding, bytes_of({1, 1})));
    CHECK_FALSE(decode_structure(many, 8, 1, coding, bytes_of({1, 1})));
    CHECK_FALSE(decode_structure(1, 8, std::int64_t{1} << 60, coding, bytes_of({1})));
  }
}

TEST_CASE("coded structures with bytes changed at random are valid structures or nothing") {
  INFO("seed " << seed);
  sparse::Random random(seed);
  const sparse::Csr masks[] = {
      sparse::uniform(12, 40, 0.5, seed),
      sparse::uniform(12, 40, 0.95, seed),
      {.rows = 3, .cols = 300, .row_offsets = {0, 3, 3, 5}, .column_indices = {299, 0, 0, 150, 20}}};
  for (const sparse::Csr& csr : masks) {
    const CodedStructure coded = code_structure(csr);
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> bytes = coded.bytes;
      bytes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<std::byte>(random.below(256));
      const auto read = decode_structure(csr.rows, csr.cols, csr.nonzeros(), coded.coding, bytes);
      if (!read) continue;
      CHECK_NOTHROW(
          sparse::validate(read->rows, read->cols, read->row_offsets, read->column_indices, "a changed structure"));
      CHECK(read->nonzeros() == csr.nonzeros());
    }
  }
}
