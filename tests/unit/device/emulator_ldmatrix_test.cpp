#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Args {
  const unsigned short* in;
  unsigned* out;
};

/// Every lane's words of `count` matrices, whose rows of 8 elements lie one behind the other in `in`; the kernel
/// reverses the order of rows in shared memory, so that addresses matter.
Bench make_bench(bool transposed, int count, Order order) {
  const std::string words = std::to_string(count);
  return Bench({.text = "struct Args { const unsigned short* in; unsigned* out; };\n"
                        "struct Shared { alignas(16) unsigned short rows[32][8]; };\n"
                        "__global__ void kernel(const __grid_constant__ Args args) {\n"
                        "  Shared& shared = vostok::dynamic_shared<Shared>();\n"
                        "  const int lane = threadIdx.x;\n"
                        "  for (int i = 0; i < 8; ++i) shared.rows[31 - lane][i] = args.in[8 * lane + i];\n"
                        "  __syncthreads();\n"
                        "  unsigned words[" +
                        words +
                        "];\n"
                        "  vostok::load_matrices<" +
                        std::string(transposed ? "true" : "false") +
                        ">(words, vostok::shared_address(shared.rows[31 - lane]));\n"
                        "  for (int i = 0; i < " +
                        words + "; ++i) args.out[" + words +
                        " * lane + i] = words[i];\n"
                        "}\n",
                .templates = {"parts/shared.h", "parts/shared_address.h", "parts/ldmatrix.h"},
                .shared_bytes = 512},
               {.order = order});
}

}  // namespace

TEST_CASE("ldmatrix gives each lane two neighbours of a row, or transposed of a column, in every order") {
  for (const Order order : orders)
    for (const bool transposed : {false, true})
      for (const int count : {2, 4}) {
        CAPTURE(describe(order));
        CAPTURE(transposed);
        CAPTURE(count);
        Bench bench = make_bench(transposed, count, order);
        std::vector<unsigned short> in(32 * 8);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned short>(7 * i + 1);
        std::vector<unsigned> out(static_cast<std::size_t>(32 * count));
        bench.launch({}, {32}, Args{in.data(), out.data()});
        const auto element = [&](int matrix, int row, int column) -> unsigned {
          return in[static_cast<std::size_t>((8 * matrix + row) * 8 + column)];
        };
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < count; ++i) {
            const int major = lane / 4;
            const int minor = 2 * (lane % 4);
            const unsigned first = transposed ? element(i, minor, major) : element(i, major, minor);
            const unsigned second = transposed ? element(i, minor + 1, major) : element(i, major, minor + 1);
            CHECK(out[static_cast<std::size_t>(count * lane + i)] == (first | second << 16));
          }
      }
}
