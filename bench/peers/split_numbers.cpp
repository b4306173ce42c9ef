#include "bench/peers/split_numbers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "codegen/source.hpp"

namespace vostok::bench {

namespace {

struct SplitArgs {
  const float* source;
  std::uint16_t* target;
  long long count;
};

constexpr const char* text = R"(
#include "parts/half.h"

namespace vostok {

struct SplitArgs {
  const float* source;
  unsigned short* target;
  long long count;
};

/// Four numbers at a time where all operands allow it: then the bytes are the limit, as in any such pass.
template <int numbers>
__global__ void split_numbers(const __grid_constant__ SplitArgs args) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x * numbers;
  for (long long i = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * numbers; i < args.count; i += step) {
    alignas(16) float source[numbers];
    alignas(8) unsigned short hi[numbers], lo[numbers];
    if constexpr (numbers == 4) *reinterpret_cast<float4*>(source) = *reinterpret_cast<const float4*>(args.source + i);
    else source[0] = args.source[i];
    for (int j = 0; j < numbers; ++j) {
      hi[j] = f32_to_f16(source[j]);
      lo[j] = f32_to_f16(source[j] - f16_to_f32(hi[j]));
    }
    const auto store = [&](unsigned short* target, const unsigned short* from) {
      if constexpr (numbers == 4) *reinterpret_cast<ushort4*>(target + i) = *reinterpret_cast<const ushort4*>(from);
      else target[i] = from[0];
    };
    store(args.target, hi);
    store(args.target + args.count, lo);
    store(args.target + 2 * args.count, hi);
  }
}

}  // namespace vostok
)";

constexpr unsigned threads = 256;
constexpr int numbers_a_load = 4;

}  // namespace

device::Source NumberSplitter::source(const std::string& architecture, int numbers) {
  return {.family = "split_numbers",
          .text = text,
          .expression = numbers == 1 ? "vostok::split_numbers<1>" : "vostok::split_numbers<4>",
          .headers = codegen::include_closure("parts/half.h"),
          .architecture = architecture};
}

NumberSplitter::NumberSplitter(device::Device& device) : device_(device) {
  for (const int numbers : {1, numbers_a_load})
    kernels_.push_back(device.load(device.compiler().compile(source(device.architecture(), numbers)), 0));
}

void NumberSplitter::enqueue(Stream stream, const float* source, std::int64_t count, std::uint16_t* target) const {
  const bool whole =
      count % numbers_a_load == 0 && reinterpret_cast<std::uintptr_t>(source) % sizeof(float[numbers_a_load]) == 0;
  const std::int64_t loads = whole ? count / numbers_a_load : count;
  constexpr std::int64_t blocks_a_multiprocessor = 8;
  const std::int64_t blocks =
      std::min<std::int64_t>(ceil_div(loads, threads), blocks_a_multiprocessor * device_.info().multiprocessors);
  if (blocks == 0) return;
  const SplitArgs args{.source = source, .target = target, .count = count};
  device_.launch(stream, *kernels_[whole ? 1 : 0],
                 {.grid = {.x = static_cast<unsigned>(blocks)}, .block = {.x = threads}}, &args, sizeof(args));
}

}  // namespace vostok::bench
