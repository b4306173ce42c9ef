#include "ops/sddmm/problem.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>

#include "contains.hpp"
#include "error_code.hpp"

using namespace vostok;

namespace {

const TopologyStatistics mask{.rows = 64, .cols = 96, .nonzeros = 100};

struct Change {
  const char* field;
  std::function<void(Sddmm&)> apply;
};

/// One change per problem field, to a batch that multiplies.
const std::vector<Change> changes = {
    {"n", [](Sddmm& p) { p.n = 33; }},
    {"batch", [](Sddmm& p) { p.batch = 3; }},
    {"element", [](Sddmm& p) { p.element = Dtype::bf16; }},
    {"output", [](Sddmm& p) { p.output = Dtype::f32; }},
    {"index", [](Sddmm& p) { p.index = IndexType::i32; }},
    {"lhs_layout", [](Sddmm& p) { p.lhs_layout = Layout::column_major; }},
    {"rhs_layout", [](Sddmm& p) { p.rhs_layout = Layout::column_major; }},
    {"lhs_leading", [](Sddmm& p) { p.lhs_leading = 100; }},
    {"rhs_leading", [](Sddmm& p) { p.rhs_leading = 100; }},
    {"lhs_stride", [](Sddmm& p) { p.lhs_stride = 10000; }},
    {"rhs_stride", [](Sddmm& p) { p.rhs_stride = 10000; }},
    {"output_stride", [](Sddmm& p) { p.output_stride = 101; }},
    {"multiplier_stride", [](Sddmm& p) { p.multiplier_stride = 101; }},
    {"alignment_bytes", [](Sddmm& p) { p.alignment_bytes = 4; }},
    {"math", [](Sddmm& p) { p.math = Math::strict; }},
    {"deterministic", [](Sddmm& p) { p.deterministic = false; }},
    {"nonfinite", [](Sddmm& p) { p.nonfinite = NonFinite::dense; }},
    {"scale", [](Sddmm& p) { p.scale = Scale::device; }},
    {"multiply", [](Sddmm& p) { p.multiply = false; }},
    {"accumulate", [](Sddmm& p) { p.accumulate = true; }},
};

Sddmm usual() { return {.n = 32, .batch = 2, .element = Dtype::f16, .multiply = true}; }

std::string key_of(const Sddmm& problem) {
  return ops::make_query(problem, mask, {problem.n, problem.n}, nullptr)->exact;
}

std::string refusal_of(const Sddmm& problem, ErrorCode code) {
  std::string message;
  CHECK(test::code_of([&] { ops::validate(problem, mask); }, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("flipping a field of an SDDMM changes the key exactly if the field's list entry puts it there") {
  std::set<std::string> left_out, all;
  const Sddmm standard;
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    all.insert(field);
    if (role.left_out != nullptr || role.stored_as != nullptr) left_out.insert(field);
  });
  CHECK(changes.size() == all.size());
  for (const Change& change : changes) {
    Sddmm problem = usual();
    change.apply(problem);
    CHECK_MESSAGE((key_of(problem) != key_of(usual())) == (left_out.count(change.field) == 0), change.field);
    CHECK_MESSAGE(all.count(change.field) == 1, change.field);
  }
}

TEST_CASE("the plain key of an SDDMM is its key without scale, multiplier and accumulation") {
  const auto plain_of = [](const Sddmm& problem) {
    return ops::make_query(problem, mask, {problem.n, problem.n}, nullptr)->plain;
  };
  std::set<std::string> beside;
  const Sddmm standard = usual();
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    if (role.beside) beside.insert(field);
  });
  CHECK(beside == std::set<std::string>{"multiplier_stride", "scale", "multiply", "accumulate"});
  for (const Change& change : changes) {
    Sddmm problem = usual();
    change.apply(problem);
    Sddmm without = problem;
    without.scale = Scale::one;
    without.multiply = without.accumulate = false;
    CHECK_MESSAGE(plain_of(without).empty(), change.field);
    CHECK_MESSAGE(plain_of(problem) == (key_of(problem) == key_of(without) ? "" : key_of(without)), change.field);
  }
}

TEST_CASE("what is packed, unused or the default of an SDDMM is written one way") {
  Sddmm spelt = usual();
  spelt.output = Dtype::f16;
  spelt.index = IndexType::u16;
  spelt.lhs_leading = spelt.rhs_leading = 32;
  spelt.lhs_stride = 64 * 32;
  spelt.rhs_stride = 96 * 32;
  spelt.output_stride = 100;
  CHECK(key_of(spelt) == key_of(usual()));

  Sddmm columns = usual();
  columns.lhs_layout = columns.rhs_layout = Layout::column_major;
  Sddmm spelt_columns = columns;
  spelt_columns.lhs_leading = 64;
  spelt_columns.rhs_leading = 96;
  CHECK(key_of(spelt_columns) == key_of(columns));

  Sddmm single = usual();
  single.batch = 1;
  Sddmm strided = single;
  strided.lhs_stride = strided.rhs_stride = strided.output_stride = strided.multiplier_stride = 100000;
  CHECK(key_of(strided) == key_of(single));
}

TEST_CASE("a query has the operands as they are stored") {
  const auto query = ops::make_query({.n = 32, .batch = 2, .rhs_layout = Layout::column_major, .lhs_leading = 40}, mask,
                                     {32, 32}, nullptr);
  CHECK(query->lhs().leading == 40);
  CHECK(query->lhs().stride == 64 * 40);
  CHECK(query->rhs().lines == 32);
  CHECK(query->rhs().leading == 96);
  CHECK(query->output().stride == 100);
  CHECK(query->index == IndexType::u16);
}

TEST_CASE("a senseless value of an SDDMM is refused by field and value") {
  const std::vector<std::pair<Sddmm, const char*>> senseless = {
      {{.n = -1}, "n = -1"},
      {{.n = 1, .batch = -1}, "batch = -1"},
      {{.n = 8, .lhs_leading = 7}, "lhs_leading = 7"},
      {{.n = 8, .lhs_layout = Layout::column_major, .lhs_leading = 63}, "lhs_leading = 63"},
      {{.n = 8, .rhs_leading = 7}, "rhs_leading = 7"},
      {{.n = 8, .rhs_layout = Layout::column_major, .rhs_leading = 95}, "rhs_leading = 95"},
      {{.n = 8, .batch = 2, .lhs_stride = 511}, "lhs_stride = 511"},
      {{.n = 8, .batch = 2, .rhs_stride = 767}, "rhs_stride = 767"},
      {{.n = 8, .batch = 2, .output_stride = 99}, "output_stride = 99"},
      {{.n = 8, .batch = 2, .multiplier_stride = 99, .multiply = true}, "multiplier_stride = 99"},
      {{.n = 1, .alignment_bytes = 2}, "alignment_bytes = 2"},
      {{.n = 1, .alignment_bytes = 12}, "alignment_bytes = 12"},
      {{.n = 1, .scale = static_cast<Scale>(9)}, "scale = 9"},
      {{.n = 1, .rhs_layout = static_cast<Layout>(7)}, "rhs_layout = 7"},
      {{.n = std::int64_t{1} << 60}, "does not fit in 64 bits"},
      {{.n = 1, .batch = std::int64_t{1} << 60}, "does not fit in 64 bits"},
  };
  for (const auto& [problem, text] : senseless) {
    const std::string message = refusal_of(problem, ErrorCode::invalid_argument);
    CHECK_MESSAGE(test::contains(message, text), text, " is not in ", message);
  }
  CHECK(test::contains(refusal_of({.n = 1, .element = Dtype::f16, .output = Dtype::bf16}, ErrorCode::unsupported),
                       "output = bf16"));
  CHECK(test::contains(refusal_of({.n = 1, .output = Dtype::f16}, ErrorCode::unsupported), "output = f16"));
  const TopologyStatistics many_columns{.rows = 1, .cols = 70000};
  CHECK_THROWS_AS(ops::validate({.n = 1, .index = IndexType::u16}, many_columns), Error);
}
