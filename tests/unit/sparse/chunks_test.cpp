#include "sparse/chunks.hpp"

#include <doctest/doctest.h>

#include "sparse/generate.hpp"

using namespace vostok;

namespace {

/// Items before a place: the nonzeros and row ends before it.
std::int64_t items_before(const ChunkStart& start) { return std::int64_t{start.row} + start.position; }

void check_chunks(const std::vector<std::int64_t>& row_offsets, int chunk_items) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const std::vector<ChunkStart> table = sparse::chunk_starts(row_offsets, chunk_items);
  const std::int64_t count = chunk_count(rows, row_offsets.back(), chunk_items);
  REQUIRE(static_cast<std::int64_t>(table.size()) == count + 1);
  CHECK((table.back().row == rows && table.back().position == row_offsets.back() && table.back().first == count));
  CHECK(items_before(table.front()) == 0);
  for (std::int64_t chunk = 0; chunk < count; ++chunk) {
    const ChunkStart& start = table[static_cast<std::size_t>(chunk)];
    const std::int64_t items = items_before(table[static_cast<std::size_t>(chunk) + 1]) - items_before(start);
    CHECK((items >= 1 && items <= 2 * chunk_items - 1));
    const std::int64_t begin = row_offsets[static_cast<std::size_t>(start.row)];
    const std::int64_t end = row_offsets[static_cast<std::size_t>(start.row) + 1];
    CHECK((start.row_end == end && start.position >= begin && start.position <= end));
    if (start.first == chunk) {
      CHECK(start.position == begin);
      continue;
    }
    CHECK(end - begin >= chunk_items);  // only such rows are cut
    const ChunkStart& head = table[static_cast<std::size_t>(start.first)];
    const ChunkStart& second = table[static_cast<std::size_t>(start.first) + 1];
    CHECK(items_before(head) <= begin + start.row);
    CHECK((second.row == start.row && second.position > begin));
  }
}

}  // namespace

TEST_CASE(
    "chunks hold every nonzero and row end once and in order, of equal size but for rows that stay whole, and long "
    "rows know where they begin") {
  constexpr std::uint64_t seed = 12;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int64_t> row_offsets = {0};
    for (std::int64_t rows = random.below(60); rows > 0; --rows) {
      const std::int64_t most = random.below(3) == 0 ? 1 : random.below(4) == 0 ? 200 : 12;
      row_offsets.push_back(row_offsets.back() + random.below(most));
    }
    for (const int items : {1, 2, 7, 16, 64}) check_chunks(row_offsets, items);
  }
  check_chunks(sparse::power_law(500, 900, 9000, 1.0, seed).row_offsets, 32);
}

TEST_CASE("a row that ends on a chunk's border leaves its end to the next chunk") {
  const std::vector<ChunkStart> table = sparse::chunk_starts(std::vector<std::int64_t>{0, 8, 9}, 4);
  REQUIRE(table.size() == 4);
  CHECK((table[1].row == 0 && table[1].position == 4 && table[1].row_end == 8 && table[1].first == 0));
  CHECK((table[2].row == 0 && table[2].position == 8 && table[2].row_end == 8 && table[2].first == 0));
}

TEST_CASE("a matrix without nonzeros has chunks of row ends, and one without rows none") {
  CHECK(sparse::chunk_starts(std::vector<std::int64_t>{0}, 4).size() == 1);
  const std::vector<ChunkStart> table = sparse::chunk_starts(std::vector<std::int64_t>(10, 0), 4);
  REQUIRE(table.size() == 4);
  CHECK((table[1].row == 4 && table[2].row == 8 && table[3].row == 9));
}
