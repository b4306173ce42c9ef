// Choices handed from context to context, and caches that are asked again.
#include <doctest/doctest.h>

#include <cstring>

#include <vostok/vostok.hpp>

#include "base/temporary_folder.hpp"
#include "error_code.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

Options quiet(const CacheOptions& cache) {
  return {.device = "emulator",
          .cache = cache,
          .log = [](LogLevel, std::string_view) {},
          .worker = {.first_run = FirstRun::this_process}};
}

Provenance provenance_in(const Context& context, const Topology& topology, const PlanOptions& options = {}) {
  return context.plan(Softmax{}, topology, options).provenance();
}

}  // namespace

TEST_CASE("what one context tuned, another finds once it was imported or its caches were asked again") {
  const TemporaryFolder folder;
  const sparse::Csr csr = sparse::uniform(24, 16, 0.5, 1);
  const Context memory(quiet({.enabled = false}));
  const Context sharing(quiet({.folder = folder / "c"}));
  const Topology in_memory = memory.topology(csr.view());
  const Topology in_sharing = sharing.topology(csr.view());
  CHECK(provenance_in(memory, in_memory) == Provenance::heuristic);
  CHECK(provenance_in(sharing, in_sharing) == Provenance::heuristic);

  const Context tuning(quiet({.folder = folder / "c"}));
  CHECK(provenance_in(tuning, tuning.topology(csr.view()), {.effort = Effort::quick, .budget_seconds = 0.01}) ==
        Provenance::tuned_here);

  CHECK(provenance_in(sharing, in_sharing) == Provenance::heuristic);  // as it had decided
  sharing.reload();
  CHECK(provenance_in(sharing, in_sharing) == Provenance::tuned_here);

  const std::vector<std::byte> rows = tuning.export_cache();
  memory.import_cache(rows);
  CHECK(provenance_in(memory, in_memory) == Provenance::tuned_here);
  CHECK(memory.export_cache() == rows);
  SUBCASE("bytes that are no rows are refused by line, and change nothing") {
    constexpr std::string_view nonsense = "vostok tuning 1\nwinner nonsense\n";
    std::vector<std::byte> bytes(nonsense.size());
    std::memcpy(bytes.data(), nonsense.data(), nonsense.size());
    std::string message;
    CHECK(vostok::test::code_of([&] { memory.import_cache(bytes); }, &message) == ErrorCode::invalid_argument);
    CHECK(message.find("line 2") != std::string::npos);
    CHECK(memory.export_cache() == rows);
  }
}
