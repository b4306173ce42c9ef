// A user's own allocator has no memory, or none that is aligned, at every allocation in turn, with kernels that run.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/tools.hpp>
#include <vostok/vostok.hpp>

#include "sparse/generate.hpp"
#include "unit/child_outcome.hpp"

using namespace vostok;

namespace {

/// Host memory for the emulator, until `left` allocations were served: then none, or none that is aligned.
class Running : public Allocator {
 public:
  void* allocate(std::int64_t bytes) override {
    if (left == 0) refused = bytes;
    if (left == 0 && !misaligns) return nullptr;
    ++live;
    auto* const memory =
        static_cast<std::byte*>(std::aligned_alloc(256, static_cast<std::size_t>((bytes + 511) / 256 * 256)));
    if (left == 0) return memory + misalignment;
    if (left > 0) --left;
    return memory;
  }
  void release(void* memory) noexcept override {
    --live;
    std::free(static_cast<std::byte*>(memory) - reinterpret_cast<std::uintptr_t>(memory) % 256);
  }

  static constexpr int misalignment = 16;
  bool misaligns = false;

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

TEST_CASE(
    "whichever allocation is refused or misaligned, the error says its bytes, nothing leaks, and the same context goes "
    "on") {
  const auto allocator = std::make_shared<Running>();
  ErrorCode expected = ErrorCode::out_of_memory;
  SUBCASE("refused") {}
  SUBCASE("misaligned") {
    allocator->misaligns = true;
    expected = ErrorCode::invalid_argument;
  }
  {
    const Context context({.device = "emulator",
                           .allocator = allocator,
                           .cache = {.enabled = false},
                           .log = [](LogLevel, std::string_view) {}});
    use_everything(context);  // every kernel is compiled
    const int idle = allocator->live;
    int refusals = 0;
    // ThreadSanitizer takes most of a minute for everything once.
    constexpr int step = test::has_thread_sanitizer ? 11 : 1;
    for (int after = 0;; after += step) {
      CAPTURE(after);
      allocator->left = after;
      allocator->refused = -1;
      std::optional<ErrorCode> code;
      try {
        use_everything(context);
      } catch (const Error& error) {
        code = error.code();
        const std::string said = error.what();
        CHECK(said.find(std::to_string(allocator->refused) + " bytes") != std::string::npos);
        if (allocator->misaligns) CHECK_MESSAGE(said.find("is not aligned to 256 bytes") != std::string::npos, said);
      }
      CHECK(allocator->live == idle);
      if (allocator->refused < 0) break;
      ++refusals;
      CHECK(code == expected);
    }
    CHECK(refusals * step >= 20);
    allocator->left = -1;
    CHECK_NOTHROW(use_everything(context));
  }
  CHECK(allocator->live == 0);
}
