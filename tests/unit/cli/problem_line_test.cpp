#include "plan/problem_line.hpp"

#include <doctest/doctest.h>

#include "base/temporary_folder.hpp"
#include "cli/problem_file.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/problem_text.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

/// Another value of the field's type.
template <class V>
void flip(V& value) {
  if constexpr (std::is_same_v<V, bool>) value = !value;
  else if constexpr (std::is_same_v<V, std::vector<std::int64_t>>) value = {3, 17};
  else if constexpr (requires { value.value(); }) value = typename V::value_type{};
  else if constexpr (std::is_enum_v<V>)
    value =
        static_cast<V>(name(static_cast<V>(static_cast<int>(value) + 1)) != nullptr ? static_cast<int>(value) + 1 : 0);
  else value += 1;
}

/// What reading a line gives.
AnyProblem read_back(const std::string& line, bool masked) {
  const TemporaryFolder folder;
  const auto lines = read_problem_file(folder.write("problems.txt", line + (masked ? " --random 8x8x0.5" : "")));
  REQUIRE(lines.size() == 1);
  return lines.front().job->value();
}

/// n is not looked at where n_values are given.
Spmm as_read(Spmm problem) {
  problem.n = ops::largest_size(problem);
  return problem;
}
template <class Problem>
Problem as_read(Problem problem) {
  return problem;
}

template <class Problem>
void check_read_back(const Problem& problem) {
  const std::string line = plan::problem_line(problem);
  CAPTURE(line);
  CHECK(std::get<Problem>(read_back(line, Problem::masked)) == as_read(problem));
}

/// A problem, and one for each of its fields in which that one differs.
template <class Problem>
void check_each_field(const Problem& problem) {
  check_read_back(problem);
  int fields = 0;
  ops::detail::visit_leaves(problem, [&](const std::string&, const auto&) { ++fields; });
  CHECK(fields > 5);
  for (int flipped = 0; flipped < fields; ++flipped) {
    Problem other = problem;
    int field = 0;
    ops::detail::visit_leaves(other, [&](const std::string&, auto& value) {
      if (field++ == flipped) flip(value);
    });
    check_read_back(other);
  }
}

TEST_CASE("a problem's line gives the problem again, whichever field differs") {
  check_each_field(Spmm{.n = 64});
  check_each_field(Sddmm{.n = 64});
  check_each_field(Softmax{});
  check_each_field(SoftmaxBackward{});
  check_each_field(SparseAttention{.n = 64});
  check_each_field(DepthwiseConvolution{.channels = 4, .height = 9, .width = 7});
  check_each_field(BiasActivation{.rows = 4, .columns = 9});
  check_each_field(Im2col{.channels = 4, .height = 9, .width = 7});
  check_read_back(SparseAttentionBackward{.forward = {.n = 64, .key_leading = 72, .saved = Saved::row_statistics}});
}

TEST_CASE("--set takes any field of a problem by its name, and refuses what is none") {
  const Tool tool;
  const auto spmm = on_emulator("spmm", {"--random", "8x8x0.5", "--n", "4"});
  check_refused(tool.run(spmm + Arguments{"--set", "dense=4"}), {"'dense=4'", "dense_leading"});
  check_refused(tool.run(spmm + Arguments{"--set", "batch=many"}), {"'many' is no value"});
  check_refused(tool.run(spmm + Arguments{"--set", "alignment_bytes=3"}), {"alignment_bytes = 3"});
  check_refused(tool.run(spmm + Arguments{"--set", "batch=-2", "--set", "deterministic=false"}), {"batch = -2"});
}

TEST_CASE("bias and im2col run and are verified") {
  const Tool tool;
  check_verified(tool, "bias", {"--rows", "5"},
                 {{"--columns", "33"}, {"--columns", "33", "--dtype", "bf16", "--set", "bias_element=bf16"}});
  check_verified(tool, "im2col", {"--channels", "3"}, {{"--height", "7", "--width", "5"}});
}

}  // namespace
}  // namespace vostok::cli::testing
