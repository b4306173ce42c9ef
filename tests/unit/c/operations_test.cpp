// Every operation through the C interface: the same bits as through C++, and plans of one operation serve no other.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "c/arguments.hpp"
#include "c/problems.hpp"
#include "unit/c/fixture.hpp"

using namespace vostok;
using test::check_refused;

namespace {

/// Memory that is device memory, too, on the emulator.
using Operand = std::array<float, 256>;

Operand operand(int salt) {
  Operand values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) + static_cast<float>(salt));
  return values;
}

/// A context, a topology of 2 x 3 with 3 nonzeros, and operands.
struct Stage {
  test::COfContext context = test::open();
  test::COfTopology topology = test::small_topology(context);
  alignas(256) Operand a = operand(1);
  alignas(256) Operand b = operand(2);
  alignas(256) Operand c = operand(3);
  alignas(256) Operand of_c = operand(0);
  alignas(256) Operand of_cpp = operand(0);
  alignas(256) std::array<char, 1 << 16> workspace{};
  alignas(256) Operand saved{};
};

/// A problem or arguments with their defaults.
template <class C>
C initial(void (*init)(C*, size_t)) {
  C made;
  init(&made, sizeof made);
  return made;
}

/// A function that plans a problem on the stage.
template <class C>
auto masked(const Stage& stage, vostok_status (*plan)(const vostok_context*, const vostok_topology*, const C*,
                                                      const vostok_plan_options*, vostok_plan**)) {
  return [&stage, plan](const C& problem, vostok_plan** out) {
    return plan(stage.context.get(), stage.topology.get(), &problem, nullptr, out);
  };
}
template <class C>
auto unmasked(const Stage& stage,
              vostok_status (*plan)(const vostok_context*, const C*, const vostok_plan_options*, vostok_plan**)) {
  return
      [&stage, plan](const C& problem, vostok_plan** out) { return plan(stage.context.get(), &problem, nullptr, out); };
}

/// Plans, and executes in both languages: `fill` names the operands of a call that writes to its second argument.
template <class Problem, class C, class Arguments, class MakePlan, class Fill>
test::COfPlan same_as_cpp(Stage& stage, const C& problem, const MakePlan& make_plan,
                          vostok_status (*execute)(const vostok_plan*, void*, const Arguments*), Arguments arguments,
                          const Fill& fill) {
  auto plan = test::made<test::COfPlan>([&](vostok_plan** out) { return make_plan(problem, out); });
  const auto operation = vostok_plan_operation(plan.get());
  CAPTURE(vostok_enum_name("operation", operation));
  REQUIRE(vostok_plan_workspace_bytes(plan.get()) <= static_cast<std::int64_t>(stage.workspace.size()));
  arguments.workspace = stage.workspace.data();
  stage.of_c = stage.of_cpp = operand(0);
  fill(arguments, stage.of_c.data());
  const vostok_status status = execute(plan.get(), nullptr, &arguments);
  REQUIRE_MESSAGE(status == VOSTOK_OK, std::string(vostok_last_error()));

  const auto& of_cpp = std::get<Plan<Problem>>(plan->value);
  CHECK(of_cpp.problem() == c::problem_of<Problem>(&problem));
  fill(arguments, stage.of_cpp.data());
  of_cpp.execute(nullptr, c::arguments_of(arguments));
  CHECK(stage.of_c == stage.of_cpp);
  CHECK(stage.of_c != operand(0));

  check_refused(execute(plan.get(), nullptr, nullptr), VOSTOK_INVALID_ARGUMENT, "arguments: the pointer to it is NULL");
  check_refused(execute(nullptr, nullptr, &arguments), VOSTOK_INVALID_ARGUMENT, "plan: it is NULL");
  return plan;
}

/// What every call of attention's gradient has.
template <class Arguments>
void point_to_gradients(const Stage& stage, Arguments& arguments, float* output) {
  arguments.query = stage.a.data();
  arguments.key = stage.b.data();
  arguments.value = stage.c.data();
  arguments.output_gradient = stage.a.data() + 128;
  arguments.query_gradient = output;
  arguments.key_gradient = output + 64;
  arguments.value_gradient = output + 128;
}

}  // namespace

TEST_CASE("SpMM, SDDMM and softmax in C give the bits that they give in C++") {
  Stage stage;
  vostok_spmm spmm = initial(vostok_spmm_init);
  spmm.n = 4;
  spmm.bias = VOSTOK_BIAS_PER_ROW;
  spmm.scale = VOSTOK_SCALE_HOST;
  same_as_cpp<Spmm>(stage, spmm, masked(stage, vostok_plan_spmm), vostok_execute_spmm,
                    initial(vostok_spmm_arguments_init), [&](auto& arguments, float* output) {
                      arguments.values = stage.a.data();
                      arguments.dense = stage.b.data();
                      arguments.bias = stage.c.data();
                      arguments.scale = 0.5F;
                      arguments.output = output;
                    });
  vostok_sddmm sddmm = initial(vostok_sddmm_init);
  sddmm.n = 4;
  sddmm.multiply = 1;
  same_as_cpp<Sddmm>(stage, sddmm, masked(stage, vostok_plan_sddmm), vostok_execute_sddmm,
                     initial(vostok_sddmm_arguments_init), [&](auto& arguments, float* output) {
                       arguments.lhs = stage.a.data();
                       arguments.rhs = stage.b.data();
                       arguments.multiplier = stage.c.data();
                       arguments.output = output;
                     });
  vostok_softmax softmax = initial(vostok_softmax_init);
  softmax.statistics = VOSTOK_ROW_STATISTICS_WRITE;
  same_as_cpp<Softmax>(stage, softmax, masked(stage, vostok_plan_softmax), vostok_execute_softmax,
                       initial(vostok_softmax_arguments_init), [&](auto& arguments, float* output) {
                         arguments.values = stage.a.data();
                         arguments.row_statistics = output + 64;
                         arguments.output = output;
                       });
  same_as_cpp<SoftmaxBackward>(stage, initial(vostok_softmax_backward_init),
                               masked(stage, vostok_plan_softmax_backward), vostok_execute_softmax_backward,
                               initial(vostok_softmax_backward_arguments_init), [&](auto& arguments, float* output) {
                                 arguments.probabilities = stage.a.data();
                                 arguments.output_gradient = stage.b.data();
                                 arguments.input_gradient = output;
                               });
}

TEST_CASE("attention and its gradient in C give the bits that they give in C++") {
  Stage stage;
  vostok_attention attention = initial(vostok_attention_init);
  attention.n = 4;
  attention.saved = VOSTOK_SAVED_ROW_STATISTICS;
  const test::COfPlan forward =
      same_as_cpp<SparseAttention>(stage, attention, masked(stage, vostok_plan_attention), vostok_execute_attention,
                                   initial(vostok_attention_arguments_init), [&](auto& arguments, float* output) {
                                     arguments.query = stage.a.data();
                                     arguments.key = stage.b.data();
                                     arguments.value = stage.c.data();
                                     arguments.saved = stage.saved.data();
                                     arguments.output = output;
                                   });
  CHECK(vostok_plan_saved_bytes(forward.get()) > 0);
  CHECK(vostok_plan_saved_bytes(forward.get()) <= static_cast<std::int64_t>(sizeof stage.saved));
  same_as_cpp<SparseAttentionBackward>(
      stage, attention, masked(stage, vostok_plan_attention_backward), vostok_execute_attention_backward,
      initial(vostok_attention_backward_arguments_init), [&](auto& arguments, float* output) {
        point_to_gradients(stage, arguments, output);
        arguments.output = stage.c.data() + 128;
        arguments.saved = stage.saved.data();
      });
}

TEST_CASE("attention of f32 with a cap, a diagonal, biases and dropout is the same in C, and so are its gradients") {
  Stage stage;
  alignas(256) const std::array<std::uint64_t, 2> seed_and_offset = {3, 4};
  vostok_attention attention = initial(vostok_attention_init);
  attention.n = 4;
  attention.capped = attention.causal = attention.biased = attention.dropped = 1;
  same_as_cpp<SparseAttention>(stage, attention, masked(stage, vostok_plan_attention), vostok_execute_attention,
                               initial(vostok_attention_arguments_init), [&](auto& arguments, float* output) {
                                 arguments.query = stage.a.data();
                                 arguments.key = stage.b.data();
                                 arguments.value = stage.c.data();
                                 arguments.bias = stage.c.data() + 128;
                                 arguments.softcap = 2;
                                 arguments.dropout = 0.25F;
                                 arguments.dropout_state = seed_and_offset.data();
                                 arguments.output = output;
                               });
  same_as_cpp<SparseAttentionBackward>(
      stage, attention, masked(stage, vostok_plan_attention_backward), vostok_execute_attention_backward,
      initial(vostok_attention_backward_arguments_init), [&](auto& arguments, float* output) {
        point_to_gradients(stage, arguments, output);
        arguments.bias = stage.c.data() + 128;
        arguments.softcap = 2;
        arguments.dropout = 0.25F;
        arguments.dropout_state = seed_and_offset.data();
        arguments.bias_gradient = output + 192;
      });
}

TEST_CASE("operations without a topology in C give the bits that they give in C++, and cannot be rebound") {
  Stage stage;
  vostok_depthwise depthwise = initial(vostok_depthwise_init);
  depthwise.channels = 2;
  depthwise.height = depthwise.width = 6;
  depthwise.bias = 1;
  same_as_cpp<DepthwiseConvolution>(stage, depthwise, unmasked(stage, vostok_plan_depthwise), vostok_execute_depthwise,
                                    initial(vostok_depthwise_arguments_init), [&](auto& arguments, float* output) {
                                      arguments.input = stage.a.data();
                                      arguments.filters = stage.b.data();
                                      arguments.bias = stage.c.data();
                                      arguments.output = output;
                                    });
  vostok_im2col im2col = initial(vostok_im2col_init);
  im2col.channels = 1;
  im2col.height = im2col.width = 5;
  same_as_cpp<Im2col>(stage, im2col, unmasked(stage, vostok_plan_im2col), vostok_execute_im2col,
                      initial(vostok_im2col_arguments_init), [&](auto& arguments, float* output) {
                        arguments.input = stage.a.data();
                        arguments.output = output;
                      });
  vostok_bias_activation bias = initial(vostok_bias_activation_init);
  bias.rows = bias.columns = 4;
  const test::COfPlan plan = same_as_cpp<BiasActivation>(
      stage, bias, unmasked(stage, vostok_plan_bias_activation), vostok_execute_bias_activation,
      initial(vostok_bias_activation_arguments_init), [&](auto& arguments, float* output) {
        arguments.input = stage.a.data();
        arguments.bias = stage.c.data();
        arguments.output = output;
      });
  vostok_plan* none = nullptr;
  check_refused(vostok_plan_rebind(plan.get(), stage.topology.get(), &none), VOSTOK_INVALID_ARGUMENT, "no topology");
  CHECK(vostok_plan_packed_bytes(plan.get()) == 0);
  CHECK(vostok_plan_saved_bytes(plan.get()) == 0);
  CHECK(vostok_plan_packed_format(plan.get()) == std::string());

  const vostok_spmm_arguments of_another = initial(vostok_spmm_arguments_init);
  check_refused(vostok_execute_spmm(plan.get(), nullptr, &of_another), VOSTOK_INVALID_ARGUMENT,
                "cannot execute spmm: plan is one of bias_activation");
  vostok_packed* packed = nullptr;
  check_refused(vostok_plan_pack(plan.get(), nullptr, stage.a.data(), &packed), VOSTOK_INVALID_ARGUMENT,
                "plan is one of bias_activation");
}

TEST_CASE("many problems are prepared, and each says how it fared") {
  const Stage stage;
  const vostok_spmm good = test::spmm_of(4);
  const vostok_spmm negative = test::spmm_of(-1);
  vostok_softmax unreadable = initial(vostok_softmax_init);
  unreadable.scale = 7;
  vostok_bias_activation bias = initial(vostok_bias_activation_init);
  bias.rows = bias.columns = 4;
  /// A newer program's: they lie further apart than the library's.
  struct Newer {
    vostok_preparation known;
    std::int64_t unknown;
  };
  const auto one = [](std::int32_t operation, const void* problem, const vostok_topology* topology) {
    return Newer{{.size = sizeof(Newer), .operation = operation, .problem = problem, .topology = topology}, 0};
  };
  const vostok_topology* const topology = stage.topology.get();
  const Newer problems[] = {one(VOSTOK_OPERATION_SPMM, &good, topology),
                            one(VOSTOK_OPERATION_SPMM, &negative, topology),
                            one(VOSTOK_OPERATION_SOFTMAX, &unreadable, topology),
                            one(VOSTOK_OPERATION_BIAS_ACTIVATION, &bias, nullptr),
                            one(99, &good, topology),
                            one(VOSTOK_OPERATION_SPMM, nullptr, topology)};
  constexpr std::size_t count = std::size(problems);
  vostok_status statuses[count];
  const auto failures = test::made<test::COfBytes>([&](vostok_bytes** out) {
    return vostok_prepare(stage.context.get(), &problems->known, count, nullptr, statuses, out);
  });
  const vostok_status expected[count] = {VOSTOK_OK, VOSTOK_INVALID_ARGUMENT, VOSTOK_INVALID_ARGUMENT,
                                         VOSTOK_OK, VOSTOK_INVALID_ARGUMENT, VOSTOK_INVALID_ARGUMENT};
  for (std::size_t i = 0; i < count; ++i) CHECK(statuses[i] == expected[i]);
  const std::string text(static_cast<const char*>(vostok_bytes_data(failures.get())),
                         vostok_bytes_size(failures.get()));
  CHECK(std::count(text.begin(), text.end(), '\n') == count);
  CHECK(text.starts_with("\ncannot plan SpMM: n = -1"));
  CHECK(test::contains(text, "\ncannot read vostok_softmax: scale = 7 is none of scale (one, host, device)\n\n"));
  CHECK(test::contains(text, "operation = 99 is none of operation (spmm, sddmm,"));
  CHECK(test::contains(text, "cannot read vostok_spmm: the pointer to it is NULL\n"));

  CHECK(vostok_prepare(stage.context.get(), nullptr, 0, nullptr, nullptr, nullptr) == VOSTOK_OK);
  check_refused(vostok_prepare(stage.context.get(), nullptr, 1, nullptr, nullptr, nullptr), VOSTOK_INVALID_ARGUMENT,
                "vostok_preparation");
}

TEST_CASE("a plan for several n is made from a list that need not outlive the call") {
  Stage stage;
  std::vector<std::int64_t> n_values = {1, 8};
  vostok_spmm problem = test::spmm_of(0);
  problem.n_values = n_values.data();
  problem.n_value_count = 2;
  const test::COfPlan plan = test::plan_of(stage.context, stage.topology, problem);
  n_values.assign(2, -1);
  vostok_spmm_arguments arguments = test::arguments_of(stage.a.data(), stage.b.data(), stage.of_c.data());
  arguments.workspace = stage.workspace.data();
  arguments.n = 5;
  CHECK(vostok_execute_spmm(plan.get(), nullptr, &arguments) == VOSTOK_OK);
  arguments.n = 9;
  check_refused(vostok_execute_spmm(plan.get(), nullptr, &arguments), VOSTOK_INVALID_ARGUMENT, ".n = 9");
}
