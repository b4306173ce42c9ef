#include "ops/conv/problem.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "contains.hpp"
#include "error_code.hpp"

using namespace vostok;

namespace {

template <class P>
using Changes = std::vector<std::pair<const char*, std::function<void(P&)>>>;

/// One change for each field: all are named, and each gives a key of its own.
template <class P>
void check_keys(const P& standard, const Changes<P>& changes) {
  std::set<std::string> fields;
  problem_fields(standard, [&](const char* field, const auto&, KeyRole) { fields.insert(field); });
  std::set<std::string> keys = {ops::make_query(standard, {}, {}, nullptr)->exact};
  for (const auto& [field, apply] : changes) {
    P problem = standard;
    apply(problem);
    ops::validate(problem, {});
    CHECK_MESSAGE(keys.insert(ops::make_query(problem, {}, {}, nullptr)->exact).second, field);
    fields.erase(field);
  }
  CHECK(fields.empty());
}

template <class P>
void check_refused(const P& problem, ErrorCode code, const char* text) {
  std::string message;
  CHECK(test::code_of([&] { ops::validate(problem, {}); }, &message) == code);
  CHECK_MESSAGE(test::contains(message, text), message);
}

const DepthwiseConvolution depthwise{.batch = 2, .channels = 3, .height = 8, .width = 8};
const BiasActivation bias{.batch = 2, .rows = 3, .columns = 4};
const Im2col patches{.batch = 2, .channels = 3, .height = 8, .width = 8};

}  // namespace

TEST_CASE("flipping a field of a convolution-side problem changes the key") {
  check_keys<DepthwiseConvolution>(depthwise, {{"batch", [](auto& p) { p.batch = 3; }},
                                               {"channels", [](auto& p) { p.channels = 4; }},
                                               {"height", [](auto& p) { p.height = 9; }},
                                               {"width", [](auto& p) { p.width = 9; }},
                                               {"kernel", [](auto& p) { p.kernel = 5; }},
                                               {"stride", [](auto& p) { p.stride = 2; }},
                                               {"padding", [](auto& p) { p.padding.left = 1; }},
                                               {"element", [](auto& p) { p.element = Dtype::f16; }},
                                               {"alignment_bytes", [](auto& p) { p.alignment_bytes = 8; }},
                                               {"bias", [](auto& p) { p.bias = true; }},
                                               {"bias_element",
                                                [](auto& p) {
                                                  p.element = Dtype::bf16;
                                                  p.bias = true;
                                                  p.bias_element = Dtype::bf16;
                                                }},
                                               {"activation", [](auto& p) { p.activation = Activation::silu; }}});
  check_keys<BiasActivation>(bias, {{"batch", [](auto& p) { p.batch = 3; }},
                                    {"rows", [](auto& p) { p.rows = 4; }},
                                    {"columns", [](auto& p) { p.columns = 5; }},
                                    {"element", [](auto& p) { p.element = Dtype::f16; }},
                                    {"alignment_bytes", [](auto& p) { p.alignment_bytes = 8; }},
                                    {"bias", [](auto& p) { p.bias = Bias::none; }},
                                    {"bias_element",
                                     [](auto& p) {
                                       p.element = Dtype::bf16;
                                       p.bias_element = Dtype::bf16;
                                     }},
                                    {"activation", [](auto& p) { p.activation = Activation::silu; }}});
  check_keys<Im2col>(patches, {{"batch", [](auto& p) { p.batch = 3; }},
                               {"channels", [](auto& p) { p.channels = 4; }},
                               {"height", [](auto& p) { p.height = 9; }},
                               {"width", [](auto& p) { p.width = 9; }},
                               {"kernel_height", [](auto& p) { p.kernel_height = 5; }},
                               {"kernel_width", [](auto& p) { p.kernel_width = 5; }},
                               {"stride", [](auto& p) { p.stride = 2; }},
                               {"padding", [](auto& p) { p.padding.top = 1; }},
                               {"element", [](auto& p) { p.element = Dtype::f16; }},
                               {"alignment_bytes", [](auto& p) { p.alignment_bytes = 8; }}});
}

TEST_CASE(
    "a dense bias in f32 has the key that it had before there was another, and one of another type is refused by "
    "name") {
  const auto key_of = [](const auto& problem) { return ops::make_query(problem, {}, {}, nullptr)->exact; };
  DepthwiseConvolution biased = depthwise;
  biased.element = Dtype::f16;
  biased.bias = true;
  BiasActivation added = bias;
  added.element = Dtype::f16;
  const auto check = [&](auto problem) {
    const std::string before = key_of(problem);
    CHECK_FALSE(test::contains(before, "bias_element"));
    problem.bias_element = Dtype::f32;
    CHECK(key_of(problem) == before);
    problem.bias_element = Dtype::f16;
    CHECK(test::contains(key_of(problem), "bias_element=f16"));
    ops::validate(problem, {});
    problem.bias_element = Dtype::bf16;
    check_refused(problem, ErrorCode::unsupported, "bias_element = bf16");
    problem.bias = {};
    problem.bias_element = Dtype::f16;
    CHECK_FALSE(test::contains(key_of(problem), "bias_element"));
  };
  check(biased);
  check(added);
}

TEST_CASE(
    "the plain key of a depthwise convolution is without bias and activation, which are all that bias and activation "
    "consist of") {
  const auto query_of = [](const auto& problem) { return ops::make_query(problem, {}, {}, nullptr); };
  CHECK(query_of(depthwise)->plain.empty());
  DepthwiseConvolution whole = depthwise;
  whole.bias = true;
  whole.activation = Activation::relu;
  CHECK(query_of(whole)->plain == query_of(depthwise)->exact);
  CHECK(query_of(BiasActivation{.rows = 3, .columns = 4, .bias = Bias::per_column, .activation = Activation::silu})
            ->plain.empty());
}

TEST_CASE("a convolution-side problem that makes no sense is refused by field and value") {
  const auto senseless = ErrorCode::invalid_argument;
  check_refused(DepthwiseConvolution{.batch = -1, .channels = 1, .height = 8, .width = 8}, senseless, "batch = -1");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 0, .width = 8}, senseless, "height = 0");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 8, .width = 8, .padding = {.left = -2}}, senseless,
                "padding.left = -2");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 2, .width = 8}, senseless, "no rows, height = 2");
  // Rounding toward zero would make one row of this.
  check_refused(DepthwiseConvolution{.channels = 1, .height = 2, .width = 8, .stride = 2}, senseless,
                "no rows, height = 2");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 8, .width = 1, .kernel = 5, .padding = {.right = 3}},
                senseless, "no columns, width = 1");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 8, .width = 8, .alignment_bytes = 2}, senseless,
                "alignment_bytes = 2");
  check_refused(DepthwiseConvolution{.channels = std::int64_t{1} << 40, .height = std::int64_t{1} << 30, .width = 8},
                senseless, "64 bits");
  check_refused(DepthwiseConvolution{.channels = 1, .height = std::int64_t{1} << 50, .width = 8}, senseless,
                "height = ");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 8, .width = 8, .kernel = 4}, ErrorCode::unsupported,
                "kernel = 4");
  check_refused(DepthwiseConvolution{.channels = 1, .height = 8, .width = 8, .stride = 3}, ErrorCode::unsupported,
                "stride = 3");
  check_refused(BiasActivation{.rows = -1}, senseless, "rows = -1");
  check_refused(BiasActivation{.rows = 1, .columns = -1}, senseless, "columns = -1");
  check_refused(BiasActivation{.activation = static_cast<Activation>(9)}, senseless, "activation = 9");
  check_refused(Im2col{.channels = 1, .height = 8, .width = 8, .kernel_height = 0}, senseless, "kernel_height = 0");
  check_refused(Im2col{.channels = 1, .height = 8, .width = 8, .stride = 0}, senseless, "stride = 0");
  check_refused(Im2col{.channels = 1, .height = 8, .width = 8, .kernel_width = 9}, senseless, "no columns, width = 8");
}

TEST_CASE("the convolution side's default configs are admitted and lead spaces and short lists that do not repeat") {
  std::vector<std::shared_ptr<const ops::Query>> queries;
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const std::int64_t size : {1, 7, 56, 224})
      for (const int alignment_bytes : {4, 16}) {
        queries.push_back(ops::make_query(DepthwiseConvolution{.channels = 32,
                                                               .height = size,
                                                               .width = size,
                                                               .kernel = 5,
                                                               .stride = 2,
                                                               .padding = {2, 2, 2, 2},
                                                               .element = element,
                                                               .alignment_bytes = alignment_bytes},
                                          {}, {}, nullptr));
        queries.push_back(ops::make_query(
            BiasActivation{.rows = 512, .columns = size, .element = element, .alignment_bytes = alignment_bytes}, {},
            {}, nullptr));
        queries.push_back(ops::make_query(Im2col{.channels = 64,
                                                 .height = size,
                                                 .width = size,
                                                 .padding = {1, 1, 1, 1},
                                                 .element = element,
                                                 .alignment_bytes = alignment_bytes},
                                          {}, {}, nullptr));
      }
  for (const auto& query : queries)
    for (const auto& family : ops::families(query->operation)) {
      INFO(std::string(family->name()), " ", query->exact);
      const ops::Config standard = family->default_config(*query);
      CHECK(!family->forbidden(*query, standard));
      const std::vector<ops::Config> space = family->space(*query), short_list = family->short_list(*query);
      CHECK(space.front() == standard);
      CHECK(short_list.front() == standard);
      CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
      CHECK(std::set<ops::Config>(short_list.begin(), short_list.end()).size() == short_list.size());
      CHECK(family->predict_us(*query, standard) > 0);
      for (const auto& [field, value] : standard.to_map()) {
        FieldMap broken = standard.to_map();
        broken[field] = "0";
        const auto config = family->read(broken);
        CHECK_MESSAGE((!config || family->forbidden(*query, *config)), field);
      }
    }
}
