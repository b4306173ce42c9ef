#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sparse/generate.hpp"
#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Args {
  const unsigned short* places;
  const unsigned* bounds;  ///< of each block's range
  unsigned* found;
  unsigned entries;
};

Bench make_bench(Order order) {
  return Bench({.text = "struct Args { const unsigned short* places; const unsigned* bounds; unsigned* found; unsigned entries; };\n"
                        "__global__ void kernel(const __grid_constant__ Args args) {\n"
                        "  const unsigned* const bounds = args.bounds + 2 * blockIdx.x;\n"
                        "  const auto range = vostok::entries_between(args.entries, bounds[0], bounds[1],\n"
                        "                                             [&](unsigned entry) -> unsigned { return args.places[entry]; });\n"
                        "  args.found[64 * blockIdx.x + 2 * threadIdx.x] = range.begin;\n"
                        "  args.found[64 * blockIdx.x + 2 * threadIdx.x + 1] = range.end;\n"
                        "}\n",
                .templates = {"sddmm/strip_entries.h"}},
               {.order = order});
}

}  // namespace

TEST_CASE("a warp finds the entries between two places as a binary search does, for lists of every length") {
  constexpr std::uint64_t seed = 41;
  INFO("seed " << seed);
  vostok::sparse::Random random(seed);
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench = make_bench(order);
    for (const unsigned entries : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 255U, 256U, 257U, 300U, 4097U, 20000U}) {
      CAPTURE(entries);
      std::vector<unsigned short> places;
      for (unsigned i = 0; i < entries; ++i) places.push_back(static_cast<unsigned short>(random.below(1 << (entries % 2 == 0 ? 16 : 6))));
      std::sort(places.begin(), places.end());
      constexpr unsigned blocks = 8;
      std::vector<unsigned> bounds = {0, 65536, 0, 0, 65535, 65536};
      while (bounds.size() < 2 * blocks) {
        const auto a = static_cast<unsigned>(random.below(65537));
        const auto b = static_cast<unsigned>(random.below(65537));
        bounds.insert(bounds.end(), {std::min(a, b), std::max(a, b)});
      }
      std::vector<unsigned> found(64 * blocks, 0xffffffffU);
      bench.launch({blocks}, {32}, Args{places.data(), bounds.data(), found.data(), entries});
      for (unsigned block = 0; block < blocks; ++block)
        for (unsigned half = 0; half < 2; ++half) {
          const auto expected = static_cast<unsigned>(std::lower_bound(places.begin(), places.end(), bounds[2 * block + half]) - places.begin());
          for (unsigned lane = 0; lane < 32; ++lane) REQUIRE(found[64 * block + 2 * lane + half] == expected);
        }
    }
  }
}
