// What launches that copy B by a tensor map ask of it, and that they get it made.
#include <abi/sparse_tensor_wgmma.h>

#include "ops/families.hpp"
#include "ops/spmm/dense_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "codegen/fields.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

const TopologyStatistics layer{.rows = 512, .cols = 256, .nonzeros = 6000, .longest_row = 20, .mean_row = 11.7};

/// Both families' configs that copy B so: a tile of 128 columns.
struct Mapped {
  std::unique_ptr<ops::Family> family;
  ops::Config config;
};
std::vector<Mapped> families(Dtype element, bool tensor_copies = true) {
  std::vector<Mapped> list;
  list.push_back({ops::make_unpack_wgmma(), ops::Config::of(UnpackWgmmaConfig{
                                                .mode = element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1,
                                                .tile_columns = 128,
                                                .promotion_blocks = 0,
                                                .prepare_dense = false,
                                                .producer_warps = 4,
                                                .tensor_copies = tensor_copies})});
  list.push_back(
      {ops::make_sparse_tensor_wgmma(),
       ops::Config::of(SparseTensorWgmmaConfig{.tile_columns = 128, .stages = 3, .tensor_copies = tensor_copies})});
  return list;
}

/// A device that notes the maps it is to make, and what launches are given.
struct NotingDevice : test::FakeDevice {
  std::vector<TensorBoxes> maps;
  std::vector<unsigned char> arguments;  ///< of the last launch
  NotingDevice() {
    on_map = [this](TensorMap& map) {
      CHECK(reinterpret_cast<std::uintptr_t>(&map) % 64 == 0);  // as the driver demands
      maps.push_back(map.boxes);
      std::memset(map.bytes, 0x5a, sizeof(map.bytes));
    };
    on_arguments = [this](const void* from, std::size_t bytes) {
      arguments.assign(static_cast<const unsigned char*>(from), static_cast<const unsigned char*>(from) + bytes);
    };
  }
};

alignas(16) char memory[64];

/// Queues what a config launches for n of the columns that it serves.
void enqueue(const Mapped& mapped, NotingDevice& device, const Spmm& problem, std::int64_t n) {
  const auto query = ops::make_query(problem, layer, {8, problem.n, 8}, &device);
  const auto reason = mapped.family->forbidden(*query, mapped.config);
  REQUIRE_MESSAGE(!reason, mapped.family->name(), ": ", reason.value_or(""));
  const SpmmArguments call{.values = memory, .dense = memory + 16, .output = memory, .workspace = memory, .n = n};
  for (ops::Launch& launch : mapped.family->launches(*query, mapped.config, {})) {
    launch.set_kernel(std::make_shared<test::FakeKernel>("some"));
    launch.enqueue(device, nullptr, &call);
  }
}

/// The one map that such a launch asks for.
TensorBoxes boxes_of(const Mapped& mapped, const Spmm& problem, std::int64_t n) {
  NotingDevice device;
  enqueue(mapped, device, problem, n);
  REQUIRE(device.maps.size() == 1);
  return device.maps.front();
}

Spmm problem_of(Dtype element = Dtype::f16) {
  return {.n = 256, .element = element, .value_lifetime = ValueLifetime::persistent};
}

void check(const TensorBoxes& boxes, const TensorBoxes& wanted) {
  CHECK(boxes.address == memory + 16);
  for (int i = 0; i < 3; ++i) CHECK(boxes.sizes[i] == wanted.sizes[i]);
  for (int i = 0; i < 2; ++i) CHECK(boxes.stride_bytes[i] == wanted.stride_bytes[i]);
  for (int i = 0; i < 2; ++i) CHECK(boxes.box[i] == wanted.box[i]);
  CHECK(boxes.element == wanted.element);
}

}  // namespace

TEST_CASE("the map of a row-major B has lines of columns, in boxes of 64 columns by 64 k, for each n of a call") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const Mapped& mapped : families(element))
      for (const std::int64_t n : {256, 200, 8})
        check(boxes_of(mapped, problem_of(element), n), {.address = nullptr,
                                                         .sizes = {n, 256, 1},
                                                         .stride_bytes = {2 * n, 2 * n},
                                                         .box = {64, 64},
                                                         .element = element});
}

TEST_CASE("the map of an f32 B that blocks split has boxes of 16 columns by 64 k") {
  const Mapped mapped{ops::make_unpack_wgmma(), ops::Config::of(UnpackWgmmaConfig{.tile_columns = 128,
                                                                                  .stages = 2,
                                                                                  .overlap = false,
                                                                                  .prepare_dense = false,
                                                                                  .producer_warps = 8,
                                                                                  .tensor_copies = true})};
  check(
      boxes_of(mapped, problem_of(Dtype::f32), 200),
      {.address = nullptr, .sizes = {200, 256, 1}, .stride_bytes = {800, 800}, .box = {16, 64}, .element = Dtype::f32});
}

TEST_CASE("the map of a column-major B has lines of k, in boxes of 64 k by a tile's columns") {
  Spmm problem = problem_of();
  problem.dense_layout = Layout::column_major;
  for (const Mapped& mapped : families(Dtype::f16))
    check(boxes_of(mapped, problem, 200), {.address = nullptr,
                                           .sizes = {256, 200, 1},
                                           .stride_bytes = {512, 512},
                                           .box = {64, 128},
                                           .element = Dtype::f16});
}

TEST_CASE(
    "the map of a batch steps from matrix to matrix, behind one another or side by side, with lines further apart than "
    "long") {
  Spmm packed = problem_of();
  packed.batch = 3;
  Spmm apart = packed;
  apart.dense_leading = 320;
  apart.dense_stride = 81984;
  Spmm side_by_side = packed;
  side_by_side.dense_leading = 768;
  side_by_side.dense_stride = 256;
  for (const Mapped& mapped : families(Dtype::f16)) {
    check(boxes_of(mapped, packed, 256), {.address = nullptr,
                                          .sizes = {256, 256, 3},
                                          .stride_bytes = {512, 131072},
                                          .box = {64, 64},
                                          .element = Dtype::f16});
    check(boxes_of(mapped, apart, 256), {.address = nullptr,
                                         .sizes = {256, 256, 3},
                                         .stride_bytes = {640, 163968},
                                         .box = {64, 64},
                                         .element = Dtype::f16});
    check(boxes_of(mapped, side_by_side, 256), {.address = nullptr,
                                                .sizes = {256, 256, 3},
                                                .stride_bytes = {1536, 512},
                                                .box = {64, 64},
                                                .element = Dtype::f16});
  }
}

TEST_CASE("a kernel that copies by a map gets it made behind its arguments, and others are given no more than before") {
  const std::size_t lengths[] = {sizeof(UnpackWgmmaArgs), sizeof(SparseTensorArgs)};
  for (const bool tensor_copies : {true, false})
    for (std::size_t i = 0; i < 2; ++i) {
      const Mapped mapped = std::move(families(Dtype::f16, tensor_copies)[i]);
      NotingDevice device;
      enqueue(mapped, device, problem_of(), 256);
      CHECK(device.launches == 1);
      CHECK(device.maps.size() == (tensor_copies ? 1 : 0));
      REQUIRE(device.arguments.size() == (tensor_copies ? (lengths[i] + 63) / 64 * 64 + 128 : lengths[i]));
      if (tensor_copies)
        CHECK(std::all_of(device.arguments.end() - 128, device.arguments.end(),
                          [](unsigned char byte) { return byte == 0x5a; }));
    }
}

TEST_CASE("a call without columns launches nothing, and asks for no map") {
  for (const Mapped& mapped : families(Dtype::f16)) {
    NotingDevice device;
    enqueue(mapped, device, problem_of(), 0);
    CHECK(device.launches == 0);
    CHECK(device.maps.empty());
  }
}

TEST_CASE(
    "what a map cannot say is known before: sizes past 31 bits, strides past 40 bits of bytes, devices without any") {
  test::FakeDevice device;
  const auto query_of = [&](const Spmm& problem, const TopologyStatistics& statistics) {
    return *ops::make_query(problem, statistics, {problem.n, problem.n}, &device);
  };
  CHECK_FALSE(ops::lacks_tensor_maps(query_of(problem_of(), layer)));
  device.tensor_maps = false;
  CHECK(ops::lacks_tensor_maps(query_of(problem_of(), layer)));
  CHECK_FALSE(ops::lacks_tensor_maps(*ops::make_query(problem_of(), layer, {256, 256}, nullptr)));

  CHECK_FALSE(ops::is_past_tensor_maps(query_of(problem_of(), layer)));
  Spmm wide = problem_of();
  wide.n = std::int64_t{1} << 31;
  CHECK(ops::is_past_tensor_maps(query_of(wide, layer)));
  wide.n /= 2;
  CHECK_FALSE(ops::is_past_tensor_maps(query_of(wide, layer)));
  Spmm apart = problem_of();
  apart.dense_leading = (std::int64_t{1} << 39) - 8;
  CHECK_FALSE(ops::is_past_tensor_maps(query_of(apart, layer)));
  apart.dense_leading += 8;
  CHECK(ops::is_past_tensor_maps(query_of(apart, layer)));
  Spmm batch = problem_of();
  batch.dense_stride = std::int64_t{1} << 39;
  CHECK_FALSE(ops::is_past_tensor_maps(query_of(batch, layer)));  // one matrix has no next one
  batch.batch = 2;
  CHECK(ops::is_past_tensor_maps(query_of(batch, layer)));

  CHECK(ops::is_narrower_than_boxes(query_of(problem_of(), layer), Layout::row_major, 32));
  CHECK_FALSE(ops::is_narrower_than_boxes(query_of(problem_of(), layer), Layout::row_major, 64));
  Spmm narrow = problem_of();
  narrow.n = 32;
  CHECK_FALSE(ops::is_narrower_than_boxes(query_of(narrow, layer), Layout::row_major, 32));
  narrow.n = 40;
  CHECK(ops::is_narrower_than_boxes(query_of(narrow, layer), Layout::row_major, 32));
  CHECK_FALSE(ops::is_narrower_than_boxes(query_of(narrow, layer), Layout::column_major, 8));
}
