#include "ops/softmax/problem.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "contains.hpp"
#include "ops/softmax/subject.hpp"

using namespace vostok;

namespace {

const TopologyStatistics mask{.rows = 64, .cols = 64, .nonzeros = 101, .longest_row = 9, .mean_row = 1.6};

template <class P>
std::string key(const P& problem) {
  ops::validate(problem, mask);
  return ops::make_query(problem, mask, {}, nullptr)->exact;
}

template <class P>
struct Change {
  const char* field;
  std::function<void(P&)> apply;
};

const std::vector<Change<Softmax>> forward_changes = {
    {"batch", [](Softmax& p) { p.batch = 5; }},
    {"element", [](Softmax& p) { p.element = Dtype::bf16; }},
    {"output", [](Softmax& p) { p.output = Dtype::f16; }},
    {"value_stride", [](Softmax& p) { p.value_stride = 200; }},
    {"output_stride", [](Softmax& p) { p.output_stride = 200; }},
    {"alignment_bytes", [](Softmax& p) { p.alignment_bytes = 4; }},
    {"deterministic", [](Softmax& p) { p.deterministic = false; }},
    {"scale", [](Softmax& p) { p.scale = Scale::device; }},
    {"statistics", [](Softmax& p) { p.statistics = RowStatistics::write; }},
};

const std::vector<Change<SoftmaxBackward>> backward_changes = {
    {"batch", [](SoftmaxBackward& p) { p.batch = 5; }},
    {"element", [](SoftmaxBackward& p) { p.element = Dtype::bf16; }},
    {"output", [](SoftmaxBackward& p) { p.output = Dtype::f16; }},
    {"probability_stride", [](SoftmaxBackward& p) { p.probability_stride = 200; }},
    {"output_gradient_stride", [](SoftmaxBackward& p) { p.output_gradient_stride = 200; }},
    {"input_gradient_stride", [](SoftmaxBackward& p) { p.input_gradient_stride = 200; }},
    {"alignment_bytes", [](SoftmaxBackward& p) { p.alignment_bytes = 4; }},
    {"deterministic", [](SoftmaxBackward& p) { p.deterministic = false; }},
    {"scale", [](SoftmaxBackward& p) { p.scale = Scale::device; }},
};

template <class P>
void check_keys(const std::vector<Change<P>>& changes) {
  std::set<std::string> fields, keys;
  const P standard{.batch = 3};
  problem_fields(standard, [&](const char* field, const auto&, KeyRole role) {
    CHECK(role.left_out == nullptr);
    fields.insert(field);
  });
  keys.insert(key(standard));
  for (const Change<P>& change : changes) {
    P problem = standard;
    change.apply(problem);
    CHECK_MESSAGE(keys.insert(key(problem)).second, change.field);
    fields.erase(change.field);
  }
  CHECK(fields.empty());
}

template <class P>
void check_refused(const P& problem, const char* text) {
  try {
    ops::validate(problem, mask);
    FAIL("the problem was accepted: " << text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_MESSAGE(test::contains(std::string(error.what()), text), error.what());
  }
}

}  // namespace

TEST_CASE("flipping a field of a softmax or of its gradient changes the key") {
  check_keys(forward_changes);
  check_keys(backward_changes);
}

TEST_CASE(
    "the plain key of a softmax is without its scale and the statistics that it writes, but not without those that it "
    "reads") {
  const auto plain_of = [](const auto& problem) { return ops::make_query(problem, mask, {}, nullptr)->plain; };
  CHECK(plain_of(Softmax{.batch = 3}).empty());
  CHECK(plain_of(Softmax{.batch = 3, .scale = Scale::host, .statistics = RowStatistics::write}) ==
        key(Softmax{.batch = 3}));
  const Softmax reading{.batch = 3, .statistics = RowStatistics::read};
  CHECK(plain_of(reading).empty());
  Softmax scaled = reading;
  scaled.scale = Scale::device;
  CHECK(plain_of(scaled) == key(reading));
  CHECK(plain_of(SoftmaxBackward{.batch = 3}).empty());
  CHECK(plain_of(SoftmaxBackward{.batch = 3, .scale = Scale::host}) == key(SoftmaxBackward{.batch = 3}));
}

TEST_CASE("a softmax's default output, packed strides and strides that nothing steps over are one key") {
  CHECK(key(Softmax{.element = Dtype::f16, .output = Dtype::f16}) == key(Softmax{.element = Dtype::f16}));
  CHECK(key(Softmax{.batch = 2, .value_stride = 101, .output_stride = 101}) == key(Softmax{.batch = 2}));
  CHECK(key(Softmax{.value_stride = 500}) == key(Softmax{}));
  CHECK(key(SoftmaxBackward{.batch = 2, .probability_stride = 101}) == key(SoftmaxBackward{.batch = 2}));
}

TEST_CASE("a softmax that makes no sense is refused by field and value") {
  check_refused(Softmax{.batch = -1}, "batch = -1");
  check_refused(Softmax{.batch = 2, .value_stride = 100}, "value_stride = 100");
  check_refused(Softmax{.batch = 2, .output_stride = -1}, "output_stride = -1");
  check_refused(Softmax{.alignment_bytes = 2}, "alignment_bytes = 2");
  check_refused(Softmax{.element = Dtype::f16, .output = Dtype::f32, .alignment_bytes = 2}, "alignment_bytes = 2");
  check_refused(Softmax{.scale = static_cast<Scale>(7)}, "scale = 7");
  check_refused(Softmax{.batch = std::int64_t{1} << 60}, "does not fit in 64 bits");
  check_refused(SoftmaxBackward{.batch = 2, .input_gradient_stride = 7}, "input_gradient_stride = 7");
  check_refused(SoftmaxBackward{.alignment_bytes = 32}, "alignment_bytes = 32");
}

TEST_CASE("vectors are as wide as alignment and the strides of a batch let every operand have them") {
  const auto widest = [](const Softmax& problem) {
    return ops::softmax_subject(*ops::make_query(problem, mask, {}, nullptr)).traits.widest_vector;
  };
  CHECK(widest({}) == 4);
  CHECK(widest({.element = Dtype::f16}) == 8);
  CHECK(widest({.element = Dtype::f16, .output = Dtype::f32}) == 8);
  CHECK(widest({.element = Dtype::f16, .output = Dtype::f32, .alignment_bytes = 8}) == 2);
  CHECK(widest({.alignment_bytes = 8}) == 2);
  CHECK(widest({.batch = 3}) == 4);  // 101 entries apart in both
  CHECK(widest({.batch = 3, .value_stride = 103, .output_stride = 111}) == 4);
  CHECK(widest({.batch = 3, .value_stride = 103, .output_stride = 105}) == 2);
  CHECK(widest({.batch = 3, .value_stride = 104}) == 1);
}
