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
  const unsigned* bounds;  ///< of each lane of each block
  unsigned* found;
  unsigned entries;
};

Bench make_bench(Order order) {
  return Bench(
      {.text =
           "struct Args { const unsigned short* places; const unsigned* bounds; unsigned* found; unsigned entries; };\n"
           "__global__ void kernel(const __grid_constant__ Args args) {\n"
           "  const unsigned at = 32 * blockIdx.x + threadIdx.x;\n"
           "  args.found[at] = vostok::first_entry_from(args.entries, args.bounds[at],\n"
           "                                            [&](unsigned entry) -> unsigned { return args.places[entry]; "
           "});\n"
           "}\n",
       .templates = {"sddmm/strip_entries.h"}},
      {.order = order});
}

}  // namespace

TEST_CASE("each lane finds the first entry that is not before its place, for lists of every length") {
  constexpr std::uint64_t seed = 41;
  INFO("seed " << seed);
  vostok::sparse::Random random(seed);
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench = make_bench(order);
    for (const unsigned entries : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 255U, 256U, 257U, 300U, 4097U, 20000U}) {
      CAPTURE(entries);
      std::vector<unsigned short> places;
      for (unsigned i = 0; i < entries; ++i)
        places.push_back(static_cast<unsigned short>(random.below(1 << (entries % 2 == 0 ? 16 : 6))));
      std::sort(places.begin(), places.end());
      constexpr unsigned lanes = 128;
      std::vector<unsigned> bounds = {0, 65535, 65536};
      while (bounds.size() < lanes)
        bounds.push_back(static_cast<unsigned>(random.below(bounds.size() % 2 == 0 ? 65537 : 64)));
      std::vector<unsigned> found(lanes, 0xffffffffU);
      bench.launch({lanes / 32}, {32}, Args{places.data(), bounds.data(), found.data(), entries});
      for (unsigned lane = 0; lane < lanes; ++lane)
        REQUIRE(found[lane] ==
                static_cast<unsigned>(std::lower_bound(places.begin(), places.end(), bounds[lane]) - places.begin()));
    }
  }
}
