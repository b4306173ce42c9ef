// Structures of older and newer programs, their defaults, and what they may hold.
#include <doctest/doctest.h>

#include <cstring>

#include "c/problems.hpp"
#include "error_code.hpp"
#include "unit/c/fixture.hpp"

using namespace vostok;
using test::check_refused;
using test::contains;

namespace {

/// A structure of a newer program: more fields behind those that the library knows.
struct NewerSpmm {
  vostok_spmm known;
  std::int32_t unknown;
  std::int32_t also_unknown;
};

NewerSpmm newer_spmm() {
  NewerSpmm problem;
  std::memset(&problem, 0xff, sizeof problem);
  vostok_spmm_init(&problem.known, sizeof problem);
  problem.known.n = 2;
  return problem;
}

vostok_spmm sized(std::uint32_t size) {
  vostok_spmm problem = test::spmm_of(1);
  problem.size = size;
  return problem;
}

template <class Problem, class C>
std::string refusal(const C& given, ErrorCode code) {
  std::string message;
  CHECK(test::code_of([&] { c::problem_of<Problem>(&given); }, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("a newer program's structure serves as long as what the library does not know is zero") {
  const test::COfContext context = test::open();
  const test::COfTopology topology = test::small_topology(context);
  NewerSpmm problem = newer_spmm();
  CHECK(problem.known.size == sizeof problem);
  CHECK(problem.unknown == 0);
  CHECK(problem.also_unknown == 0);
  test::plan_of(context, topology, problem.known);

  problem.also_unknown = 0x100;
  vostok_plan* plan = nullptr;
  check_refused(vostok_plan_spmm(context.get(), topology.get(), &problem.known, nullptr, &plan), VOSTOK_UNSUPPORTED,
                "cannot read vostok_spmm: byte");
  CHECK(plan == nullptr);
}

TEST_CASE("an older program's structure is read as far as it goes; the rest has its defaults") {
  vostok_spmm problem;
  std::memset(&problem, 0xff, sizeof problem);
  vostok_spmm_init(&problem, offsetof(vostok_spmm, n_values));
  CHECK(problem.size == offsetof(vostok_spmm, n_values));
  CHECK(problem.n_value_count == -1);  // it was left alone
  problem.n = 7;
  problem.element = VOSTOK_DTYPE_BF16;
  CHECK(c::problem_of<Spmm>(&problem) == Spmm{.n = 7, .element = Dtype::bf16});
}

TEST_CASE(
    "an answer is written as far as the caller's structure goes, and what the library does not know becomes zero") {
  const test::COfContext context = test::open();
  struct {
    vostok_counters known;
    std::int64_t unknown;
  } counters{.known = {}, .unknown = -1};
  std::memset(&counters.known, 0xff, sizeof counters.known);
  counters.known.size = offsetof(vostok_counters, compile_us);
  REQUIRE(vostok_context_counters(context.get(), &counters.known) == VOSTOK_OK);
  CHECK(counters.known.kernels_compiled == 0);
  CHECK(counters.known.compile_us == -1);
  counters.known.size = sizeof counters;
  REQUIRE(vostok_context_counters(context.get(), &counters.known) == VOSTOK_OK);
  CHECK(counters.known.compile_us == 0);
  CHECK(counters.unknown == 0);
  CHECK(counters.known.size == sizeof counters);
}

TEST_CASE("a size that is none and a null pointer are refused by the structure's name") {
  CHECK(contains(refusal<Spmm>(sized(3), ErrorCode::invalid_argument), "vostok_spmm: size = 3"));
  CHECK(contains(refusal<Spmm>(sized(0xffffffff), ErrorCode::invalid_argument), "size = 4294967295"));
  std::string message;
  CHECK(test::code_of([] { c::problem_of<Sddmm>(static_cast<const vostok_sddmm*>(nullptr)); }, &message) ==
        ErrorCode::invalid_argument);
  CHECK(contains(message, "vostok_sddmm: the pointer to it is NULL"));
}

TEST_CASE("an init function writes no more than it is told, and sets no size where there is no room for one") {
  vostok_spmm problem;
  std::memset(&problem, 0x7f, sizeof problem);
  const vostok_spmm before = problem;
  for (const std::size_t size : {0, 1, 3}) vostok_spmm_init(&problem, size);
  CHECK(std::memcmp(&problem, &before, sizeof problem) == 0);
  vostok_spmm_init(nullptr, sizeof problem);
}

TEST_CASE(
    "values outside of an enumeration, flags that are neither 0 nor 1 and reserved fields are refused by field and "
    "value") {
  vostok_spmm spmm = test::spmm_of(1);
  spmm.activation = 9;
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument),
                 "vostok_spmm: activation = 9 is none of activation (none, relu, gelu,"));
  spmm = test::spmm_of(1);
  spmm.element = 256;  // no enumerator of one byte becomes f32
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument), "element = 256"));
  spmm = test::spmm_of(1);
  spmm.element = VOSTOK_DTYPE_DEFAULT;  // of outputs only
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument), "element = -1"));
  spmm = test::spmm_of(1);
  spmm.output = -2;
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument), "output = -2"));
  spmm = test::spmm_of(1);
  spmm.residual = 2;
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument), "residual = 2 is neither 0 nor 1"));
  spmm = test::spmm_of(1);
  spmm.n_value_count = 1;
  CHECK(contains(refusal<Spmm>(spmm, ErrorCode::invalid_argument), "n_values is no list of 1"));

  vostok_softmax softmax;
  vostok_softmax_init(&softmax, sizeof softmax);
  softmax.reserved = 1;
  CHECK(contains(refusal<Softmax>(softmax, ErrorCode::unsupported), "vostok_softmax: reserved = 1"));
}

TEST_CASE("defaults are those of C++") {
  const auto same = [](auto problem, auto init, auto standard) {
    init(&problem, sizeof problem);
    CHECK(c::problem_of<decltype(standard)>(&problem) == standard);
  };
  same(vostok_spmm{}, vostok_spmm_init, Spmm{});
  same(vostok_sddmm{}, vostok_sddmm_init, Sddmm{});
  same(vostok_softmax{}, vostok_softmax_init, Softmax{});
  same(vostok_softmax_backward{}, vostok_softmax_backward_init, SoftmaxBackward{});
  same(vostok_attention{}, vostok_attention_init, SparseAttention{});
  same(vostok_attention{}, vostok_attention_init, SparseAttentionBackward{});
  same(vostok_depthwise{}, vostok_depthwise_init, DepthwiseConvolution{});
  same(vostok_bias_activation{}, vostok_bias_activation_init, BiasActivation{});
  same(vostok_im2col{}, vostok_im2col_init, Im2col{});

  const vostok_options options = c::defaults<vostok_options>();
  const Options standard;
  CHECK(options.allow_emulator == 1);
  CHECK(options.cache_enabled == 1);
  CHECK(options.cache_environment == 1);
  CHECK(options.max_workspace_bytes == standard.max_workspace_bytes);
  CHECK(options.max_code_bytes == standard.cache.max_code_bytes);
  CHECK(options.lock_timeout_ms == standard.cache.lock_timeout_ms);
  CHECK(options.worker_timeout_seconds == standard.worker.timeout_seconds);
  const vostok_plan_options plan_options = c::defaults<vostok_plan_options>();
  CHECK(plan_options.effort == VOSTOK_EFFORT_CACHED);
  CHECK(plan_options.overlap_calls == 1);
  CHECK(plan_options.budget_seconds == PlanOptions{}.budget_seconds);
  CHECK(plan_options.seed == PlanOptions{}.seed);
}
