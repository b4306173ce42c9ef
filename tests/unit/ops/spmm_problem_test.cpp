#include "ops/spmm/problem.hpp"

#include <doctest/doctest.h>

#include "contains.hpp"

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

/// A batch whose strides, values and padding all count.
const Spmm standard{.n = 32, .batch = 2, .values_per_batch = true};

/// One change per problem field.
const std::vector<Change> changes = {
    {"n", [](Spmm& p) { p.n = 33; }},
    {"n_values", [](Spmm& p) { p.n_values = {1, 8}; }},
    {"batch", [](Spmm& p) { p.batch = 3; }},
    {"values_per_batch", [](Spmm& p) { p.values_per_batch = false; }},
    {"element", [](Spmm& p) { p.element = Dtype::bf16; }},
    {"output", [](Spmm& p) { p.output = Dtype::f16; }},
    {"index", [](Spmm& p) { p.index = IndexType::i32; }},
    {"sparse_transposed", [](Spmm& p) { p.sparse_transposed = true; }},
    {"dense_layout", [](Spmm& p) { p.dense_layout = Layout::column_major; }},
    {"output_layout", [](Spmm& p) { p.output_layout = Layout::column_major; }},
    {"dense_leading", [](Spmm& p) { p.dense_leading = 100; }},
    {"output_leading", [](Spmm& p) { p.output_leading = 100; }},
    {"value_stride", [](Spmm& p) { p.value_stride = 104; }},
    {"dense_stride", [](Spmm& p) { p.dense_stride = 10000; }},
    {"output_stride", [](Spmm& p) { p.output_stride = 10000; }},
    {"alignment_bytes", [](Spmm& p) { p.alignment_bytes = 4; }},
    {"math", [](Spmm& p) { p.math = Math::strict; }},
    {"deterministic", [](Spmm& p) { p.deterministic = false; }},
    {"nonfinite", [](Spmm& p) { p.nonfinite = NonFinite::dense; }},
    {"value_lifetime", [](Spmm& p) { p.value_lifetime = ValueLifetime::persistent; }},
    {"epilogue", [](Spmm& p) { p.epilogue.bias = Bias::per_row; }},
};

std::string key(const Spmm& problem, const TopologyStatistics& statistics = square) {
  const std::int64_t n = ops::largest_size(problem);
  return ops::make_query(problem, statistics, {n, n}, nullptr)->exact;
}

ErrorCode code_of(const Spmm& problem, std::string* message = nullptr, const TopologyStatistics& statistics = square) {
  try {
    ops::validate(problem, statistics);
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  FAIL("the problem was accepted");
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("flipping an SpMM's field changes the key exactly if the field's list entry puts it there") {
  std::set<std::string> left_out, all;
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    all.insert(field);
    if (role.left_out != nullptr || role.stored_as != nullptr) left_out.insert(field);
  });
  CHECK(changes.size() == all.size());
  for (const Change& change : changes) {
    Spmm problem = standard;
    change.apply(problem);
    CHECK_MESSAGE((key(problem) != key(standard)) == (left_out.count(change.field) == 0), change.field);
    CHECK_MESSAGE(all.count(change.field) == 1, change.field);
  }
}

TEST_CASE("the plain key of an SpMM is its key without the epilogue, and nothing where there is none") {
  const auto query_of = [](const Spmm& problem) { return ops::make_query(problem, square, {32, 32}, nullptr); };
  CHECK(query_of(standard)->plain.empty());
  std::set<std::string> beside;
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    if (role.beside) beside.insert(field);
  });
  CHECK(beside == std::set<std::string>{"epilogue"});
  for (const Epilogue& epilogue :
       {Epilogue{.bias = Bias::per_row}, Epilogue{.bias = Bias::per_column}, Epilogue{.residual = true},
        Epilogue{.activation = Activation::gelu}, Epilogue{.scale = Scale::device}, Epilogue{.accumulate = true},
        Epilogue{.bias = Bias::per_row, .activation = Activation::silu}})
    for (const Change& change : changes) {
      if (beside.contains(change.field)) continue;
      Spmm problem = standard;
      change.apply(problem);
      const std::string without = key(problem);
      problem.epilogue = epilogue;
      const std::int64_t n = ops::largest_size(problem);
      const auto query = ops::make_query(problem, square, {n, n}, nullptr);
      CHECK_MESSAGE(query->plain == without, change.field);
      CHECK_MESSAGE(query->exact != without, change.field);
    }
  auto restricted = query_of({.n = 32, .epilogue = {.bias = Bias::per_row}});
  restricted->add_to_keys(" family=row_tile");
  auto restricted_plain = query_of({.n = 32});
  restricted_plain->add_to_keys(" family=row_tile");
  CHECK(restricted->plain == restricted_plain->exact);
  CHECK(restricted_plain->plain.empty());
}

TEST_CASE("flipping an epilogue field changes the key") {
  std::set<std::string> keys;
  for (const Epilogue& epilogue :
       {Epilogue{}, Epilogue{.bias = Bias::per_column}, Epilogue{.bias = Bias::per_column, .bias_element = Dtype::f16},
        Epilogue{.residual = true}, Epilogue{.activation = Activation::relu}, Epilogue{.scale = Scale::host},
        Epilogue{.accumulate = true}})
    keys.insert(key({.n = 1, .element = Dtype::f16, .epilogue = epilogue}));
  CHECK(keys.size() == 7);
}

TEST_CASE("a bias in f32 has the key that it had before there was another, and without a bias its type says nothing") {
  const auto key_of = [](const Epilogue& epilogue) {
    return key({.n = 1, .element = Dtype::bf16, .epilogue = epilogue});
  };
  const std::string before = key_of({.bias = Bias::per_row});
  CHECK_FALSE(test::contains(before, "bias_element"));
  CHECK(key_of({.bias = Bias::per_row, .bias_element = Dtype::f32}) == before);
  CHECK(test::contains(key_of({.bias = Bias::per_row, .bias_element = Dtype::bf16}), "epilogue.bias_element=bf16"));
  CHECK(key_of({.bias_element = Dtype::bf16}) == key_of({}));
  const auto query = ops::make_query(
      {.n = 1, .element = Dtype::bf16, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::bf16}}, square,
      {1, 1}, nullptr);
  CHECK(query->plain == key_of({}));
}

TEST_CASE("a bias that is neither f32 nor of the element type is refused by name") {
  std::string message;
  CHECK(code_of({.n = 1, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::f16}}, &message) ==
        ErrorCode::unsupported);
  CHECK_MESSAGE(test::contains(message, "epilogue.bias_element = f16"), message);
  CHECK_MESSAGE(test::contains(message, "f32 and the element type"), message);
  CHECK(code_of({.n = 1, .element = Dtype::f16, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::bf16}}) ==
        ErrorCode::unsupported);
  CHECK(code_of({.n = 1, .epilogue = {.bias_element = static_cast<Dtype>(7)}}, &message) ==
        ErrorCode::invalid_argument);
  CHECK_MESSAGE(test::contains(message, "epilogue.bias_element = 7"), message);
  ops::validate({.n = 1, .element = Dtype::f16, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::f16}},
                square);
  ops::validate({.n = 1, .element = Dtype::f16, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::f32}},
                square);
}

TEST_CASE("a leading dimension or stride that is the packed one means packed, unless the plan serves several n") {
  Spmm written = standard;
  written.dense_leading = written.output_leading = 32;
  written.dense_stride = written.output_stride = 64 * 32;
  written.value_stride = 100;
  CHECK(key(written) == key(standard));
  const Spmm several{.n_values = {16, 32}, .dense_leading = 32};
  CHECK(key(several) != key({.n = 32}));
  Spmm columns{.n_values = {16, 32}, .dense_layout = Layout::column_major, .dense_leading = 64};  // k, whatever n is
  CHECK(key(columns) == key({.n = 32, .dense_layout = Layout::column_major}));
}

TEST_CASE("packed values of masks with different numbers of nonzeros have one key") {
  TopologyStatistics other = square;
  other.nonzeros = 117;
  CHECK(key(standard, other) == key(standard));
  Spmm written = standard;
  written.value_stride = 117;
  CHECK(key(written, other) == key(standard));
}

TEST_CASE("what a single product does not have is not in its key") {
  CHECK(key({.n = 8, .values_per_batch = true, .value_stride = 500, .dense_stride = 900, .output_stride = 700}) ==
        key({.n = 8}));
}

TEST_CASE("columns are read as 16 bits where they fit, and as 32 where they do not or it is asked for") {
  const auto index = [](IndexType asked, std::int64_t cols) {
    return ops::make_query({.n = 1, .index = asked}, {.rows = 2, .cols = cols, .nonzeros = 2}, {1, 1}, nullptr)->index;
  };
  CHECK(index(IndexType::automatic, 65536) == IndexType::u16);
  CHECK(index(IndexType::automatic, 65537) == IndexType::i32);
  CHECK(index(IndexType::i32, 10) == IndexType::i32);
  CHECK(key({.n = 1, .index = IndexType::u16}) == key({.n = 1}));
}

TEST_CASE("values that persist lie as the library packed them, whatever their stride was before") {
  Spmm persistent = standard;
  persistent.value_lifetime = ValueLifetime::persistent;
  const auto query = ops::make_query(persistent, square, {32, 32}, nullptr);
  CHECK(query->value_stride() == 112);
  persistent.value_stride = 500;
  CHECK(key(persistent) == query->exact);
  ops::validate(persistent, square);
}

TEST_CASE("a senseless SpMM is refused by field and value") {
  const std::vector<std::pair<Spmm, const char*>> senseless = {
      {{.n = -1}, "n = -1"},
      {{.n_values = {4, -1}}, "n_values[1] = -1"},
      {{.n = 1, .batch = -1}, "batch = -1"},
      {{.n = 8, .dense_leading = 7}, "dense_leading = 7"},
      {{.n = 8, .dense_layout = Layout::column_major, .dense_leading = 63}, "dense_leading = 63"},
      {{.n_values = {8, 9}, .output_leading = 8}, "output_leading = 8"},
      {{.n = 8, .batch = 2, .dense_stride = 511}, "dense_stride = 511"},
      {{.n = 8, .batch = 2, .output_leading = 10, .output_stride = 637}, "output_stride = 637"},
      {{.n = 8, .batch = 2, .values_per_batch = true, .value_stride = 99}, "value_stride = 99"},
      {{.n = 1, .alignment_bytes = 2}, "alignment_bytes = 2"},
      {{.n = 1, .alignment_bytes = 12}, "alignment_bytes = 12"},
      {{.n = 1, .alignment_bytes = 32}, "alignment_bytes = 32"},
      {{.n = 1, .element = Dtype::f16, .alignment_bytes = 1}, "alignment_bytes = 1"},
      {{.n = 1, .math = static_cast<Math>(9)}, "math = 9"},
      {{.n = 1, .epilogue = {.activation = static_cast<Activation>(99)}}, "epilogue.activation = 99"},
      {{.n = std::int64_t{1} << 62}, "does not fit in 64 bits"},
      {{.n = 1 << 20, .batch = std::int64_t{1} << 40}, "does not fit in 64 bits"},
  };
  for (const auto& [problem, text] : senseless) {
    std::string message;
    CHECK_MESSAGE(code_of(problem, &message) == ErrorCode::invalid_argument, text);
    CHECK_MESSAGE(test::contains(message, text), message);
  }
}

TEST_CASE("sizes are those of the matrix that is multiplied: of A^T where A is transposed") {
  const TopologyStatistics tall{.rows = 100000, .cols = 10, .nonzeros = 100};
  std::string message;
  CHECK(code_of({.n = 1, .index = IndexType::u16, .sparse_transposed = true}, &message, tall) ==
        ErrorCode::invalid_argument);
  CHECK_MESSAGE(test::contains(message, "index = u16"), message);
  ops::validate({.n = 1, .index = IndexType::u16}, tall);
  ops::validate({.n = 4, .sparse_transposed = true, .output_layout = Layout::column_major, .output_leading = 10}, tall);
  CHECK(code_of({.n = 4, .output_layout = Layout::column_major, .output_leading = 10}, &message, tall) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("every n up to the largest is served, by a range of multiples of a vector where it is one") {
  CHECK(ops::size_ranges({.n = 0}).empty());
  CHECK(ops::size_ranges({.n = 7}) == std::vector<ops::SizeRange>{{7, 7}});
  CHECK(ops::size_ranges({.n_values = {0}}).empty());
  CHECK(ops::size_ranges({.n_values = {0, 1}}) == ops::size_ranges({.n_values = {1}}));
  CHECK(ops::size_ranges({.n_values = {20}, .element = Dtype::f16}) ==
        std::vector<ops::SizeRange>{{8, 16, 8}, {1, 20}});
  const Spmm problem{.n_values = {64, 1, 64, 10}};
  CHECK(ops::largest_size(problem) == 64);
  const std::vector<ops::SizeRange> ranges = ops::size_ranges(problem);
  CHECK(ranges == std::vector<ops::SizeRange>{{1, 1}, {4, 8, 4}, {2, 10}, {12, 64, 4}, {11, 64}});
  for (std::int64_t n = 1; n <= 64; ++n) {
    const auto first =
        std::find_if(ranges.begin(), ranges.end(), [&](const ops::SizeRange& range) { return range.serves(n); });
    REQUIRE(first != ranges.end());
    CHECK(first->divisor() % (n > 1 && n % 4 == 0 ? 4 : 1) == 0);
  }
}
