// B as tiles for the tensor cores, against the host's, bit for bit: on the emulator in several thread orders and on
// every GPU.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <abi/column_loss.h>

#include "base/text.hpp"
#include "device/kernel_devices.hpp"
#include "ops/spmm/split_dense.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "tune/spmm_host.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 64;

struct Tiles {
  std::vector<std::byte> bytes;
  std::vector<float> scales;
};

/// One B of a batch on the host.
class HostDense {
 public:
  HostDense(const tune::SpmmHost& host, std::int64_t product) : host_(host), product_(product) {}
  float at(std::int64_t k, std::int64_t column) const {
    if (k >= host_.walked.cols || column >= host_.problem.n) return 0;
    const ops::StoredMatrix& shape = host_.dense_shape;
    const bool row_major = host_.problem.dense_layout == Layout::row_major;
    const std::int64_t place = row_major ? k * shape.leading + column : column * shape.leading + k;
    return host_.dense[static_cast<std::size_t>(product_ * shape.stride + place)];
  }

 private:
  const tune::SpmmHost& host_;
  std::int64_t product_;
};

/// The largest finite magnitude of so many elements.
float largest_of(const HostDense& b, std::int64_t first_k, std::int64_t count, std::int64_t column) {
  float largest = 0;
  for (std::int64_t k = first_k; k < first_k + count; ++k)
    if (std::isfinite(b.at(k, column))) largest = std::max(largest, std::fabs(b.at(k, column)));
  return largest;
}

/// 2^e that brings it into [2^13, 2^14), e at most 126; 1 where it is zero.
float scale_of(float largest) {
  if (largest == 0) return 1;
  // Subnormal magnitudes count as the largest of them: the exponent is cut off anyway.
  const int exponent = largest < std::numeric_limits<float>::min() ? 140 : 13 - std::ilogb(largest);
  return std::ldexp(1.0F, std::min(exponent, 126));
}

void put(std::vector<std::byte>& bytes, std::int64_t at, Dtype type, float value) {
  std::vector<std::byte> stored = sparse::to_storage(type, std::vector<float>{value});
  if (std::isnan(value)) stored = {std::byte{0xff}, std::byte{0x7f}};
  std::memcpy(bytes.data() + at, stored.data(), 2);
}

/// Straight from the description of the format (abi/split_dense.h), without its functions.
Tiles expected(const tune::SpmmHost& host, PackedMode mode, std::int64_t tile_columns, std::int64_t scale_blocks) {
  const Dtype type = mode == PackedMode::bf16x1 || mode == PackedMode::bf16x3 ? Dtype::bf16 : Dtype::f16;
  const bool two = mode == PackedMode::f16x3 || mode == PackedMode::bf16x3;
  const std::int64_t k_blocks = (host.walked.cols + 63) / 64;
  const std::int64_t column_tiles = (host.problem.n + tile_columns - 1) / tile_columns;
  const std::int64_t tile_bytes = tile_columns == 64 && two ? 16384 : 8192;
  const bool certified = host.problem.nonfinite == NonFinite::sparse;
  Tiles tiles;
  tiles.bytes.resize(static_cast<std::size_t>(host.problem.batch * column_tiles * k_blocks * tile_bytes));
  const bool is_scaled = mode == PackedMode::f16x3 || mode == PackedMode::f16_scaled;
  if (is_scaled)
    tiles.scales.resize(static_cast<std::size_t>(host.problem.batch * k_blocks * column_tiles * tile_columns));
  for (std::int64_t product = 0; product < host.problem.batch; ++product) {
    const HostDense b(host, product);
    for (std::int64_t block = 0; block < k_blocks; ++block)
      for (std::int64_t column = 0; column < column_tiles * tile_columns; ++column) {
        const float largest = largest_of(b, 64 * (block - block % scale_blocks), 64 * scale_blocks, column);
        const float scale = is_scaled ? scale_of(largest) : 1.0F;
        if (is_scaled)
          tiles.scales[static_cast<std::size_t>((product * k_blocks + block) * column_tiles * tile_columns + column)] =
              largest == 0 && certified ? 0 : 1 / scale;
        const std::int64_t first = ((product * column_tiles + column / tile_columns) * k_blocks + block) * tile_bytes;
        const std::int64_t c = column % tile_columns;
        const auto place = [&](std::int64_t k, std::int64_t in_line) {
          return first + k * 128 + ((in_line / 8) ^ (k % 8)) * 16 + in_line % 8 * 2;
        };
        for (std::int64_t k = 0; k < 64; ++k) {
          const float value = b.at(64 * block + k, column) * scale;
          const float high = sparse::round_to(type, value);
          put(tiles.bytes, place(k, c), type, value);
          if (!two) continue;
          const float low = std::isfinite(high) ? value - high : 0.0F;
          put(tiles.bytes, tile_columns == 64 ? place(k, c) + 8192 : place(k, c + 32), type, low);
        }
      }
  }
  return tiles;
}

std::string described(const tune::SpmmHost& host, PackedMode mode, int tile_columns, int scale_blocks) {
  return fmt::format("k = {}, n = {}, {} columns a tile, {} k blocks a scale, {}, {}", host.walked.cols, host.problem.n,
                     tile_columns, scale_blocks, name(mode), ops::exact_key(host.problem));
}

void check(const tune::SpmmHost& host, PackedMode mode, int tile_columns, int scale_blocks = 1) {
  for (const test::NamedDevice& on : test::kernel_devices()) {
    device::Device& device = *on.device;
    INFO(on.name, ": ", described(host, mode, tile_columns, scale_blocks));
    const TopologyStatistics statistics{.rows = host.walked.rows, .cols = host.walked.cols, .nonzeros = 1};
    const auto query = ops::make_query(host.problem, statistics, {host.problem.n, host.problem.n}, &device);
    ops::SplitDense what{.mode = mode, .tile_columns = tile_columns, .scale_blocks = scale_blocks};
    what.scales_offset_bytes = ops::split_tiles_bytes(*query, mode, tile_columns);
    const std::int64_t bytes = what.scales_offset_bytes + ops::split_scales_bytes(*query, mode, tile_columns);
    REQUIRE_FALSE(ops::split_dense_declined(*query, what));

    const device::Buffer workspace(device, bytes);
    const std::vector<std::byte> poison(static_cast<std::size_t>(bytes), std::byte{0xff});
    device.copy_to_device(workspace.data(), poison.data(), bytes);
    const std::int64_t shift = host.problem.alignment_bytes < 16 ? host.problem.alignment_bytes : 0;
    const std::vector<std::byte> stored = sparse::to_storage(host.problem.element, host.dense);
    const device::Buffer dense(device, shift + static_cast<std::int64_t>(stored.size()));
    device.copy_to_device(dense.as<char>() + shift, stored.data(), static_cast<std::int64_t>(stored.size()));

    ops::Launch launch = ops::split_dense_launch(*query, what);
    test::load_kernel(device, launch);
    const SpmmArguments call{.dense = dense.as<char>() + shift, .workspace = workspace.data(), .n = host.problem.n};
    launch.enqueue(device, device.own_stream(), &call);
    device.synchronize(device.own_stream());

    const Tiles right = expected(host, mode, tile_columns, scale_blocks);
    std::vector<std::byte> found(right.bytes.size());
    device.copy_to_host(found.data(), workspace.data(), static_cast<std::int64_t>(found.size()));
    const auto different = std::mismatch(found.begin(), found.end(), right.bytes.begin());
    CHECK_MESSAGE(different.first == found.end(), "byte ", different.first - found.begin(), " of ", found.size(),
                  " differs");
    std::vector<float> scales(right.scales.size());
    if (scales.empty()) continue;
    device.copy_to_host(scales.data(), workspace.as<char>() + what.scales_offset_bytes,
                        static_cast<std::int64_t>(scales.size() * sizeof(float)));
    if (host.problem.nonfinite == NonFinite::sparse)  // their last bits tell what columns lose
      for (float& scale : scales)
        scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & ~marked_scale_mask());
    CHECK(scales == right.scales);
  }
}

/// A matrix of which only the shape counts.
tune::SpmmHost host_of(const Spmm& problem, std::int64_t k, std::uint64_t random_seed) {
  return {problem, sparse::uniform(3, k, 0.5, random_seed), random_seed, 1.0F};
}

struct Mode {
  Dtype element;
  PackedMode mode;
  int tile_columns;
};

const std::vector<Mode>& modes() {
  static const std::vector<Mode> list = {{Dtype::f32, PackedMode::f16x3, 64},      {Dtype::f32, PackedMode::f16x3, 32},
                                         {Dtype::f32, PackedMode::bf16x3, 64},     {Dtype::f32, PackedMode::bf16x3, 32},
                                         {Dtype::f32, PackedMode::f16_scaled, 64}, {Dtype::f16, PackedMode::f16x1, 64},
                                         {Dtype::bf16, PackedMode::bf16x1, 64}};
  return list;
}

}  // namespace

TEST_CASE("tiles of B are the host's, bit for bit, for every mode, layout and alignment") {
  sparse::Random random(seed);
  for (const Mode& mode : modes())
    for (const Layout layout : {Layout::row_major, Layout::column_major})
      for (const int alignment : {16, size_of(mode.element)}) {
        Spmm problem{.n = 1 + random.below(150),
                     .element = mode.element,
                     .dense_layout = layout,
                     .alignment_bytes = alignment,
                     .nonfinite = alignment == 16 ? NonFinite::sparse : NonFinite::dense};
        check(host_of(problem, 1 + random.below(200), random.bits()), mode.mode, mode.tile_columns);
        if (test::thread_sanitized) continue;
        problem.n = 64;
        check(host_of(problem, 128, random.bits()), mode.mode, mode.tile_columns);
      }
}

TEST_CASE("tiles of B: blocks make half the columns of k blocks that share scales, where there are many") {
  constexpr std::int64_t most_multiprocessors = 132;
  constexpr std::int64_t many = 64 * 4 * most_multiprocessors;
  for (const PackedMode mode : {PackedMode::f16x3, PackedMode::f16_scaled}) {
    const bool one_term = mode == PackedMode::f16_scaled;
    const Spmm problem{.n = many + 20, .math = one_term ? Math::tf32 : Math::accurate, .nonfinite = NonFinite::sparse};
    check(host_of(problem, 66, seed), mode, 64, one_term ? 4 : 2);
  }
}

TEST_CASE("tiles of B: two k blocks share the scales of their columns, where there are two, and four of one term") {
  sparse::Random random(seed + 2);
  for (const int tile_columns : {64, 32})
    for (const Layout layout : {Layout::row_major, Layout::column_major})
      for (const std::int64_t k : {std::int64_t{40}, std::int64_t{64}, std::int64_t{128}, 65 + random.below(200)}) {
        const Spmm problem{.n = 1 + random.below(100), .batch = 2, .dense_layout = layout, .alignment_bytes = 4};
        tune::SpmmHost host = host_of(problem, k, random.bits());
        // Of magnitudes so different that in many columns each k block's own scale would be another.
        for (float& value : host.dense) value = std::ldexp(value, static_cast<int>(random.below(40)) - 20);
        check(host, PackedMode::f16x3, tile_columns, 2);
        if (tile_columns == 64) check(host, PackedMode::f16_scaled, tile_columns, 4);
      }
}

TEST_CASE("tiles of a batch of B lie one after the other, and what lies between lines of B is in none") {
  for (const Mode& mode : modes()) {
    Spmm problem{
        .n = 37, .batch = 3, .element = mode.element, .dense_leading = 48, .dense_stride = std::int64_t{90} * 48};
    check(host_of(problem, 70, seed), mode.mode, mode.tile_columns);
    problem.dense_layout = Layout::column_major;
    problem.dense_leading = 72;
    problem.dense_stride = 0;
    check(host_of(problem, 70, seed), mode.mode, mode.tile_columns);
  }
}

TEST_CASE("scales keep the smallest and the largest magnitudes, and pass over what is not finite") {
  const Spmm problem{.n = 64};
  tune::SpmmHost host = host_of(problem, 130, seed);
  sparse::Random random(seed + 1);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::int64_t k = 0; k < 130; ++k)
    for (std::int64_t j = 0; j < 64; ++j) {
      float& value = host.dense[static_cast<std::size_t>(k * 64 + j)];
      value = static_cast<float>(random.normal() * std::pow(10.0, static_cast<double>(j * 76 / 63 - 38)));
      if (j == 5) value = 0;
      if (j == 6) value = 1e-45F * static_cast<float>(random.below(100));
      if (j == 7 && k % 3 == 0) value = k % 2 == 0 ? infinity : std::numeric_limits<float>::quiet_NaN();
      if (j == 8) value = -infinity;
      if (j == 9) value = std::numeric_limits<float>::max();
    }
  for (const int tile_columns : {64, 32}) {
    check(host, PackedMode::f16x3, tile_columns);
    check(host, PackedMode::f16x3, tile_columns, 2);
    check(host, PackedMode::bf16x3, tile_columns);
  }
  check(host, PackedMode::f16_scaled, 64);
}
