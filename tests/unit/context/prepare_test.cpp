// Many problems at once, on the emulator.
#include <doctest/doctest.h>

#include <vostok/vostok.hpp>

#include "error_code.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

Options memory_only() {
  return {.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}};
}

}  // namespace

TEST_CASE("prepared problems are planned without compiling, and what cannot be planned says why, in its place") {
  const Context context(memory_only());
  const sparse::Csr csr = sparse::uniform(24, 16, 0.5, 1);
  const Topology topology = context.topology(csr.view());
  const std::vector<Preparation> problems = {{.problem = Softmax{}, .topology = topology},
                                             {.problem = Spmm{.n = -1}, .topology = topology},
                                             {.problem = BiasActivation{.rows = 3, .columns = 5}},
                                             {.problem = BiasActivation{.rows = 3, .columns = 5}, .topology = topology},
                                             {.problem = Softmax{}}};
  const auto outcomes = context.prepare(problems);
  REQUIRE(outcomes.size() == problems.size());
  CHECK_FALSE(outcomes[0].has_value());
  REQUIRE(outcomes[1].has_value());
  CHECK(outcomes[1]->code() == ErrorCode::invalid_argument);
  CHECK(std::string(outcomes[1]->what()).find("n = -1") != std::string::npos);
  CHECK_FALSE(outcomes[2].has_value());
  REQUIRE(outcomes[3].has_value());
  CHECK(outcomes[3]->code() == ErrorCode::invalid_argument);
  REQUIRE(outcomes[4].has_value());
  CHECK(outcomes[4]->code() == ErrorCode::invalid_argument);

  const std::int64_t compiled = context.counters().kernels_compiled;
  CHECK(compiled >= 2);
  context.plan(Softmax{}, topology);
  context.plan(BiasActivation{.rows = 3, .columns = 5});
  CHECK(context.counters().kernels_compiled == compiled);
  CHECK(context.prepare({}).empty());
}

TEST_CASE("a plan that may not compile names every kernel of every step, and the choices where only tuned ones count") {
  Options options = memory_only();
  options.compile = CompilePolicy::never;
  const sparse::Csr csr = sparse::uniform(24, 16, 0.5, 1);
  const auto refusal = [&](ErrorCode code) {
    const Context context(options);
    std::string message;
    CHECK(test::code_of([&] { context.plan(SparseAttention{.n = 8}, context.topology(csr.view())); }, &message) ==
          code);
    return message;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count(refusal(ErrorCode::missing_kernel), "\n  kernel: ") >= 3);
  options.cache_only = true;
  const std::string both = refusal(ErrorCode::missing_choice);
  CHECK(count(both, "\n  choice: ") == 3);
  CHECK(count(both, "\n  kernel: ") >= 3);
}
