// Device memory runs out at every allocation in turn, with kernels that run: what a user's own allocator refuses.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/tools.hpp>
#include <vostok/vostok.hpp>

#include "sparse/generate.hpp"

using namespace vostok;

namespace {

/// Host memory for the emulator, until `left` allocations were served.
class Running : public Allocator {
 public:
  void* allocate(std::int64_t bytes) override {
    if (left == 0) {
      refused = bytes;
      return nullptr;
    }
    if (left > 0) --left;
    ++live;
    return std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
  }
  void release(void* memory) noexcept override {
    --live;
    std::free(memory);
  }

  std::atomic<int> left = -1;  ///< negative: as many as are asked for
  std::atomic<int> live = 0;
  std::atomic<std::int64_t> refused = -1;
};

/// Topologies, derived forms, a tool of each kind, plans, packed values.
void use_everything(const Context& context) {
  const sparse::Csr csr = sparse::uniform(48, 40, 0.7, 1);
  const Topology mask = context.topology(csr.view());
  const PermutedTopology turned = transpose(mask);
  const PermutedTopology sorted = sort_columns(mask);
  const Topology made = make_mask(context, UniformMask{.rows = 16, .cols = 16, .sparsity = 0.5});
  const Workspace memory = context.plan(Spmm{.n = 8, .sparse_transposed = true}, mask).make_workspace();
  const std::vector<float> values(static_cast<std::size_t>(csr.nonzeros()), 1);
  const SpmmPlan packing = context.plan(Spmm{.n = 8, .value_lifetime = ValueLifetime::persistent}, mask);
  const PackedValues packed = packing.pack(nullptr, values.data());
  const SddmmPlan sampled = context.plan(Sddmm{.n = 8}, mask);
}

}  // namespace

TEST_CASE("whichever allocation is refused, the error says its bytes, nothing leaks, and the same context goes on") {
  const auto allocator = std::make_shared<Running>();
  {
    const Context context({.device = "emulator", .allocator = allocator, .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
    use_everything(context);  // every kernel is compiled
    const int idle = allocator->live;
    int refusals = 0;
    for (int after = 0;; ++after) {
      CAPTURE(after);
      allocator->left = after;
      allocator->refused = -1;
      std::optional<ErrorCode> code;
      try {
        use_everything(context);
      } catch (const Error& error) {
        code = error.code();
        CHECK(std::string(error.what()).find(std::to_string(allocator->refused) + " bytes") != std::string::npos);
      }
      CHECK(allocator->live == idle);
      if (allocator->refused < 0) break;
      ++refusals;
      CHECK(code == ErrorCode::out_of_memory);
    }
    CHECK(refusals >= 20);
    allocator->left = -1;
    CHECK_NOTHROW(use_everything(context));
  }
  CHECK(allocator->live == 0);
}
