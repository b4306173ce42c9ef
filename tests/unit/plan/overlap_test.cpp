// Which launches of a plan may start while the one before still runs, how their blocks are kept from crowding, and that
// every kernel waits by itself.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// Of each launch of a call its kernel, whether it may, and its shape.
struct Noted {
  std::string kernel;
  device::LaunchShape shape;
  bool overlaps() const { return shape.waits_for_previous; }
};

sparse::Csr small_mask() { return sparse::uniform(200, 300, 0.5, 7); }

template <class Problem>
std::vector<Noted> launches(const Problem& problem, const typename Problem::Arguments& call, const PlanOptions& options,
                            const sparse::Csr& mask = small_mask()) {
  test::Fixture fixture;
  fixture.device->be_a_gpu();
  const auto session = fixture.session();
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = test::Fixture::topology(session, mask);
  const Plan<Problem> plan(plan::make_plan(*planner, problem, topology, options));
  std::vector<Noted> list;
  device::LaunchShape last;
  fixture.device->on_shape = [&](const device::LaunchShape& shape) { last = shape; };
  fixture.device->on_launch = [&](const test::FakeKernel& kernel) { list.push_back({kernel.code, last}); };
  plan.execute(nullptr, call);
  return list;
}

/// Of an SpMM that packs, multiplies and, with slices of k, adds up.
std::vector<Noted> product_launches(const Spmm& problem, const PlanOptions& options,
                                    const sparse::Csr& mask = small_mask()) {
  return launches(problem,
                  SpmmArguments{.values = test::no_memory(0),
                                .dense = test::no_memory(1),
                                .output = test::no_memory(2),
                                .workspace = test::no_memory(3)},
                  options, mask);
}

bool makes_operands(const Noted& launch) {
  return launch.kernel.find("split_dense") != std::string::npos ||
         launch.kernel.find("sample_operands") != std::string::npos;
}

}  // namespace

TEST_CASE("launches of a call may start while the one before ends, the first one unless its plan was told not to") {
  for (const bool overlap_calls : {true, false}) {
    const std::vector<Noted> list =
        product_launches({.n = 64}, {.family = "unpack_mma", .overlap_calls = overlap_calls});
    REQUIRE(list.size() >= 2);
    for (std::size_t i = 0; i < list.size(); ++i) {
      CAPTURE(list[i].kernel);
      CHECK(list[i].overlaps() == (i > 0 || overlap_calls));
    }
  }
}

TEST_CASE("values of a call are packed on multiprocessors that the product before has left, unless they are few") {
  const auto starts_early = [](std::int64_t rows, std::int64_t cols, const Spmm& problem) {
    const std::vector<Noted> list =
        product_launches(problem, {.family = "unpack_wgmma"}, sparse::uniform(rows, cols, 0.95, 7));
    REQUIRE(list.front().kernel.find("pack_strips") != std::string::npos);
    for (std::size_t i = 1; i < list.size(); ++i) CHECK(list[i].overlaps());
    return list.front().overlaps();
  };
  const Spmm half{.n = 64, .element = Dtype::f16}, full{.n = 64};
  const Spmm transposed{.n = 64, .element = Dtype::f16, .sparse_transposed = true};
  CHECK(starts_early(512, 512, full));
  CHECK(starts_early(2048, 2048, half));
  CHECK(!starts_early(2048, 2048, full));  // rows are scaled first
  CHECK(!starts_early(2048, 2048, transposed));
  CHECK(!starts_early(4096, 4096, half));
}

/// Of an SDDMM.
const SddmmArguments sample_call{.lhs = test::no_memory(0),
                                 .rhs = test::no_memory(1),
                                 .output = test::no_memory(2),
                                 .workspace = test::no_memory(3)};

TEST_CASE("blocks that make operands share the multiprocessors evenly: shared memory keeps more of them away") {
  Spmm unaligned{.n = 64};
  unaligned.alignment_bytes = 4;  // not to be copied as it lies
  const std::vector<Noted> product = product_launches(unaligned, {.family = "unpack_wgmma"});
  const std::vector<Noted> sample = launches(Sddmm{.n = 64}, sample_call, {.family = "tensor_sample"});
  for (const std::vector<Noted>& list : {product, sample}) {
    int made = 0;
    for (const Noted& launch : list) {
      CAPTURE(launch.kernel);
      CHECK(launch.overlaps());
      if (!makes_operands(launch)) continue;
      ++made;
      CHECK(launch.shape.grid.x * launch.shape.grid.y <= 132);
      CHECK(launch.shape.shared_bytes > 233'472 / 2);  // of a multiprocessor's: no room for another
    }
    CHECK(made == 1);
  }
}

TEST_CASE("operands of an SDDMM in parts of n start afterwards: the sum of parts of the call before comes first") {
  const std::vector<Noted> list = launches(Sddmm{.n = 16384}, sample_call, {.family = "tensor_sample"});
  REQUIRE(list.size() == 3);
  CHECK(list.back().kernel.find("sum_parts") != std::string::npos);
  for (const Noted& launch : list) {
    CAPTURE(launch.kernel);
    CHECK(launch.overlaps() == !makes_operands(launch));
  }
}

TEST_CASE(
    "a share of a multiprocessor's shared memory leaves no room for one block more, and is not asked for where threads "
    "leave none") {
  struct Nothing {};
  const auto binding = [](const Nothing&, Nothing&) { return device::Dim3{}; };
  test::FakeDevice fake;
  CHECK(ops::Launch::of<Nothing, Nothing>({}, {.grid = {}, .block = {256}, .shared_bytes = 32}, binding)
            .spread(&fake, 1)
            .shared_bytes() == 32);
  fake.be_a_gpu();
  constexpr std::int64_t of_multiprocessor = 233'472, reserved = 1024, own = 32;
  const device::LaunchShape shape{.grid = {}, .block = {256}, .shared_bytes = own};
  for (const std::int64_t share : {1, 2, 3, 5, 8}) {
    for (const std::int64_t blocks : {132 * (share - 1) + 1, 132 * share}) {
      CAPTURE(blocks);
      const std::int64_t bytes =
          ops::Launch::of<Nothing, Nothing>({}, shape, binding).spread(&fake, blocks).shared_bytes();
      CHECK(share * (bytes + reserved) <= of_multiprocessor);
      CHECK((share + 1) * (bytes + reserved) > of_multiprocessor);
      CHECK(bytes <= fake.max_shared_bytes());
    }
  }
  CHECK(ops::Launch::of<Nothing, Nothing>({}, shape, binding).spread(&fake, 132 * 8 + 1).shared_bytes() == own);
  CHECK(ops::Launch::of<Nothing, Nothing>({}, shape, binding).spread(nullptr, 1).shared_bytes() == own);
}

TEST_CASE("every kernel that an operation launches waits for the launch before it") {
  int kernels = 0;
  for (const device::Header& header : codegen::embedded_templates()) {
    // Steps of a topology are launched one after the other; those that pack values are launched as operations are.
    const bool packs = header.name.starts_with("topology/pack_");
    if (header.text.find("__global__") == std::string::npos || (header.name.starts_with("topology/") && !packs))
      continue;
    CAPTURE(header.name);
    ++kernels;
    bool waits = false;
    for (const device::Header& part : codegen::include_closure(header.name))
      waits = waits ||
              (part.name != "parts/dependent_launch.h" && part.text.find("_previous_launch();") != std::string::npos);
    CHECK(waits);
  }
  CHECK(kernels >= 24);
}
