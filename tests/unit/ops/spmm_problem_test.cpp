#include "ops/spmm/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <vostok/error.hpp>

using namespace vostok;

namespace {

const TopologyStatistics square{.rows = 64, .cols = 64, .nonzeros = 100};

struct Change {
  const char* field;
  std::function<void(Spmm&)> apply;
};

/// One change per problem field.
const std::vector<Change> changes = {
    {"n", [](Spmm& p) { p.n = 33; }},
    {"n_values", [](Spmm& p) { p.n_values = {1, 8}; }},
    {"batch", [](Spmm& p) { p.batch = 2; }},
    {"element", [](Spmm& p) { p.element = Dtype::bf16; }},
    {"output", [](Spmm& p) { p.output = Dtype::f16; }},
    {"index", [](Spmm& p) { p.index = IndexType::u16; }},
    {"sparse_transposed", [](Spmm& p) { p.sparse_transposed = true; }},
    {"dense_layout", [](Spmm& p) { p.dense_layout = Layout::column_major; }},
    {"output_layout", [](Spmm& p) { p.output_layout = Layout::column_major; }},
    {"dense_leading", [](Spmm& p) { p.dense_leading = 100; }},
    {"output_leading", [](Spmm& p) { p.output_leading = 100; }},
    {"alignment_bytes", [](Spmm& p) { p.alignment_bytes = 4; }},
    {"math", [](Spmm& p) { p.math = Math::strict; }},
    {"deterministic", [](Spmm& p) { p.deterministic = false; }},
    {"nonfinite", [](Spmm& p) { p.nonfinite = NonFinite::sparse; }},
    {"value_lifetime", [](Spmm& p) { p.value_lifetime = ValueLifetime::persistent; }},
    {"epilogue", [](Spmm& p) { p.epilogue.bias = Bias::per_row; }},
};

ErrorCode code_of(const Spmm& problem, std::string* message = nullptr) {
  try {
    ops::validate(problem, square);
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  FAIL("the problem was accepted");
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("flipping a problem field changes the key exactly if the field's list entry puts it there") {
  std::set<std::string> left_out, all;
  const Spmm standard;
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    all.insert(field);
    if (role.left_out != nullptr) left_out.insert(field);
  });
  CHECK(changes.size() == all.size());
  const std::string key = ops::exact_key(ops::resolve(Spmm{.n = 32}, 32));
  for (const Change& change : changes) {
    Spmm problem{.n = 32};
    change.apply(problem);
    const std::string changed = ops::exact_key(ops::resolve(problem, problem.n));
    CHECK_MESSAGE((changed != key) == (left_out.count(change.field) == 0), change.field);
    CHECK_MESSAGE(all.count(change.field) == 1, change.field);
  }
}

TEST_CASE("flipping an epilogue field changes the key") {
  std::set<std::string> keys;
  for (const Epilogue& epilogue : {Epilogue{}, Epilogue{.bias = Bias::per_column}, Epilogue{.residual = true},
                                   Epilogue{.activation = Activation::relu}, Epilogue{.scale = Scale::host}, Epilogue{.accumulate = true}})
    keys.insert(ops::exact_key(Spmm{.n = 1, .epilogue = epilogue}));
  CHECK(keys.size() == 6);
}

TEST_CASE("a leading dimension equal to n means packed, unless the plan serves several n") {
  CHECK(ops::exact_key(ops::resolve({.n = 32, .dense_leading = 32, .output_leading = 32}, 32)) == ops::exact_key(ops::resolve({.n = 32}, 32)));
  const Spmm several{.n_values = {16, 32}, .dense_leading = 32};
  CHECK(ops::exact_key(ops::resolve(several, 32)) != ops::exact_key(ops::resolve({.n = 32}, 32)));
}

TEST_CASE("an unsupported value is refused by field and value") {
  const std::vector<std::pair<Spmm, const char*>> refused = {
      {{.n = 1, .batch = 2}, "batch = 2"},
      {{.n = 1, .element = Dtype::f16}, "element = f16"},
      {{.n = 1, .output = Dtype::bf16}, "output = bf16"},
      {{.n = 1, .index = IndexType::u16}, "index = u16"},
      {{.n = 1, .sparse_transposed = true}, "sparse_transposed = true"},
      {{.n = 1, .dense_layout = Layout::column_major}, "dense_layout = column_major"},
      {{.n = 1, .output_layout = Layout::column_major}, "output_layout = column_major"},
      {{.n = 1, .value_lifetime = ValueLifetime::persistent}, "value_lifetime = persistent"},
      {{.n = 1, .epilogue = {.residual = true}}, "epilogue.residual = true"},
      {{.n = 1, .epilogue = {.activation = Activation::gelu}}, "epilogue.activation = gelu"},
      {{.n = 1, .epilogue = {.scale = Scale::device}}, "epilogue.scale = device"},
      {{.n = 1, .epilogue = {.accumulate = true}}, "epilogue.accumulate = true"},
  };
  for (const auto& [problem, text] : refused) {
    std::string message;
    CHECK_MESSAGE(code_of(problem, &message) == ErrorCode::unsupported, text);
    CHECK_MESSAGE(message.find(text) != std::string::npos, message);
  }
}

TEST_CASE("a senseless value is refused by field and value") {
  const std::vector<std::pair<Spmm, const char*>> senseless = {
      {{.n = -1}, "n = -1"},
      {{.n_values = {4, 0}}, "n_values[1] = 0"},
      {{.n = 1, .batch = 0}, "batch = 0"},
      {{.n = 8, .dense_leading = 7}, "dense_leading = 7"},
      {{.n_values = {8, 9}, .output_leading = 8}, "output_leading = 8"},
      {{.n = 1, .alignment_bytes = 2}, "alignment_bytes = 2"},
      {{.n = 1, .alignment_bytes = 12}, "alignment_bytes = 12"},
      {{.n = 1, .alignment_bytes = 32}, "alignment_bytes = 32"},
      {{.n = 1, .math = static_cast<Math>(9)}, "math = 9"},
      {{.n = std::int64_t{1} << 62}, "does not fit in 64 bits"},
  };
  for (const auto& [problem, text] : senseless) {
    std::string message;
    CHECK_MESSAGE(code_of(problem, &message) == ErrorCode::invalid_argument, text);
    CHECK_MESSAGE(message.find(text) != std::string::npos, message);
  }
}

TEST_CASE("every n up to the largest is served, by a range of multiples of a vector where it is one") {
  CHECK(ops::size_ranges({.n = 0}).empty());
  CHECK(ops::size_ranges({.n = 7}) == std::vector<ops::SizeRange>{{7, 7}});
  const Spmm problem{.n_values = {64, 1, 64, 10}};
  CHECK(ops::largest_size(problem) == 64);
  const std::vector<ops::SizeRange> ranges = ops::size_ranges(problem);
  CHECK(ranges == std::vector<ops::SizeRange>{{1, 1}, {4, 8, 4}, {2, 10}, {12, 64, 4}, {11, 64}});
  for (std::int64_t n = 1; n <= 64; ++n) {
    const auto first = std::find_if(ranges.begin(), ranges.end(), [&](const ops::SizeRange& range) { return range.serves(n); });
    REQUIRE(first != ranges.end());
    CHECK(first->divisor() % (n > 1 && n % 4 == 0 ? 4 : 1) == 0);
  }
}
