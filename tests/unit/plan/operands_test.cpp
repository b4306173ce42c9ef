// What execute refuses of the pointers and factors that it is given: arguments that nobody asked for, and memory that
// is shared.
#include "plan/operands.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "contains.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::contains;
using test::no_memory;

namespace {

struct Planned : test::Fixture {
  std::shared_ptr<plan::Session> session_made = session();
  std::shared_ptr<plan::Planner> planner = std::make_shared<plan::Planner>(session_made);
  Topology mask = topology(session_made, sparse::uniform(24, 40, 0.5, 3));

  template <class Problem>
  Plan<Problem> plan(const Problem& problem) const {
    if constexpr (Problem::masked) return Plan<Problem>(plan::make_plan(*planner, problem, mask, {}));
    else return Plan<Problem>(plan::make_plan(*planner, problem, PlanOptions{}));
  }
};

/// The call is legal as it is, and with a change refused by name before anything is launched.
template <class Problem>
class Calls {
 public:
  using Arguments = typename Problem::Arguments;

  Calls(Planned& planned, const Problem& problem, const Arguments& good)
      : device_(*planned.device), plan_(planned.plan(problem)), good_(good) {
    good_.workspace = no_memory(60);
    legal([](Arguments&) {});
  }

  template <class Change>
  void legal(const Change& change) const {
    Arguments call = good_;
    change(call);
    const int before = device_.launches;
    plan_.execute(nullptr, call);
    CHECK(device_.launches > before);
  }
  template <class Change>
  void refused(const Change& change, const std::vector<std::string>& parts) const {
    Arguments call = good_;
    change(call);
    const int before = device_.launches;
    std::string message;
    CHECK(code_of([&] { plan_.execute(nullptr, call); }, &message) == ErrorCode::invalid_argument);
    for (const std::string& part : parts) CHECK_MESSAGE(contains(message, part), message);
    CHECK(device_.launches == before);
  }

 private:
  test::FakeDevice& device_;
  Plan<Problem> plan_;
  Arguments good_;
};

/// Bytes behind a pointer.
template <class T>
T* behind(T* pointer, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uintptr_t>(bytes));
}

const SpmmArguments spmm_call{.values = no_memory(0), .dense = no_memory(1), .output = no_memory(2)};
const SddmmArguments sddmm_call{.lhs = no_memory(0), .rhs = no_memory(1), .output = no_memory(2)};
const SoftmaxArguments softmax_call{.values = no_memory(0), .output = no_memory(1)};
const SoftmaxBackwardArguments gradient_call{
    .probabilities = no_memory(0), .output_gradient = no_memory(1), .input_gradient = no_memory(2)};
const AttentionArguments attention_call{
    .query = no_memory(0), .key = no_memory(1), .value = no_memory(2), .output = no_memory(3)};
const AttentionBackwardArguments backward_call{.query = no_memory(0),
                                               .key = no_memory(1),
                                               .value = no_memory(2),
                                               .output_gradient = no_memory(3),
                                               .query_gradient = no_memory(4),
                                               .key_gradient = no_memory(5),
                                               .value_gradient = no_memory(6)};
const DepthwiseConvolution depthwise{.batch = 2, .channels = 3, .height = 6, .width = 7};
const DepthwiseArguments depthwise_call{.input = no_memory(0), .filters = no_memory(1), .output = no_memory(2)};
const BiasActivation bias_problem{.batch = 2, .rows = 5, .columns = 6, .bias = Bias::none};
const BiasActivationArguments bias_call{.input = no_memory(0), .output = no_memory(1)};
const Im2col patches{.batch = 2, .channels = 3, .height = 6, .width = 7};
const Im2colArguments patches_call{.input = no_memory(0), .output = no_memory(1)};

}  // namespace

TEST_CASE("an argument that the problem does not ask for is refused, naming it and the field that asks for it") {
  Planned planned;
  const auto factor = [](auto& call) { call.scale = 0.125F; };
  const auto nan_factor = [](auto& call) { call.scale = NAN; };
  const auto pointer = [](auto& call) { call.device_scale = no_memory(9); };
  const Calls<Spmm> spmm(planned, {.n = 8}, spmm_call);
  spmm.refused(factor, {".scale = 0.125", "scale = host"});
  spmm.refused(nan_factor, {".scale = nan"});
  spmm.refused(pointer, {".device_scale", "epilogue.scale = device"});
  spmm.refused([](auto& call) { call.bias = no_memory(9); }, {".bias is given", "epilogue.bias"});
  spmm.refused([](auto& call) { call.residual = no_memory(9); }, {".residual is given", "epilogue.residual"});
  spmm.refused([](auto& call) { call.n = 9; }, {".n = 9"});
  const Calls<Spmm> scaled(planned, {.n = 8, .epilogue = {.scale = Scale::host}}, spmm_call);
  scaled.legal(factor);
  scaled.refused(pointer, {".device_scale"});

  const Calls<Sddmm> sddmm(planned, {.n = 8}, sddmm_call);
  sddmm.refused(factor, {".scale = 0.125"});
  sddmm.refused(pointer, {".device_scale", "scale = device"});
  sddmm.refused([](auto& call) { call.multiplier = no_memory(9); }, {".multiplier is given", "multiply"});

  const Calls<Softmax> softmax(planned, {}, softmax_call);
  softmax.refused(factor, {"softmax", ".scale = 0.125"});
  softmax.refused(pointer, {".device_scale"});
  softmax.refused([](auto& call) { call.row_statistics = no_memory(9); }, {".row_statistics is given", "statistics"});
  const Calls<SoftmaxBackward> gradient(planned, {}, gradient_call);
  gradient.refused(factor, {".scale = 0.125"});
  gradient.refused(pointer, {".device_scale"});

  SoftmaxArguments from_device = softmax_call;
  from_device.device_scale = no_memory(9);
  const Calls<Softmax> device_scaled(planned, {.scale = Scale::device}, from_device);
  device_scaled.refused(factor, {".scale = 0.125"});

  const Calls<SparseAttention> attention(planned, {.n = 8}, attention_call);
  attention.legal(factor);
  attention.refused([](auto& call) { call.saved = no_memory(9); }, {".saved is given", "field saved"});
  const Calls<SparseAttentionBackward> backward(planned, {.forward = {.n = 8}}, backward_call);
  backward.legal(factor);
  backward.refused([](auto& call) { call.saved = no_memory(9); }, {".saved is given"});
  backward.refused([](auto& call) { call.output = no_memory(9); }, {".output is given", "field saved"});

  Calls<DepthwiseConvolution>(planned, depthwise, depthwise_call)
      .refused([](auto& call) { call.bias = no_memory(9); }, {".bias is given", "bias"});
  Calls<BiasActivation>(planned, bias_problem, bias_call)
      .refused([](auto& call) { call.bias = no_memory(9); }, {".bias is given"});
}

TEST_CASE("an argument that nobody asked for is refused also where there is nothing to compute") {
  Planned planned;
  const SpmmPlan nothing = planned.plan(Spmm{.n = 0});
  nothing.execute(nullptr, {});
  CHECK(code_of([&] { nothing.execute(nullptr, {.bias = no_memory(9)}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { nothing.execute(nullptr, {.scale = 2}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an output that shares elements with another operand or the workspace is refused, naming both") {
  Planned planned;
  const std::int64_t nonzeros = planned.mask.nonzeros();
  const Calls<Spmm> spmm(planned, {.n = 8, .epilogue = {.bias = Bias::per_row, .residual = true}},
                         {.values = no_memory(0),
                          .dense = no_memory(1),
                          .output = no_memory(2),
                          .bias = no_memory(3),
                          .residual = no_memory(4)});
  const std::int64_t output_bytes = 24 * 8 * 4;
  spmm.refused([](auto& call) { call.output = no_memory(1); }, {".output", ".dense", "shares elements"});
  spmm.refused([&](auto& call) { call.output = behind(no_memory(0), nonzeros / 4 * 4 * 4 - 16); },
               {".output", ".values"});
  spmm.refused([](auto& call) { call.output = no_memory(4); }, {".output", ".residual"});
  spmm.refused([&](auto& call) { call.bias = behind(no_memory(2), output_bytes - 16); }, {".output", ".bias"});
  spmm.legal([&](auto& call) { call.bias = behind(no_memory(2), output_bytes); });
  spmm.legal([](auto& call) { call.residual = no_memory(1); });  // inputs may share
  // A bias in the element type is half as long as one in f32.
  const SpmmArguments biased{
      .values = no_memory(0), .dense = no_memory(1), .output = no_memory(2), .bias = no_memory(3)};
  const Calls<Spmm> whole(planned, {.n = 8, .element = Dtype::f16, .epilogue = {.bias = Bias::per_row}}, biased);
  const Calls<Spmm> half(
      planned, {.n = 8, .element = Dtype::f16, .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::f16}},
      biased);
  const auto output_behind_bias = [](auto& call) { call.output = behind(no_memory(3), 24 * 2); };
  whole.refused(output_behind_bias, {".output", ".bias"});
  half.legal(output_behind_bias);

  Calls<Sddmm>(planned, {.n = 8}, sddmm_call)
      .refused([](auto& call) { call.output = no_memory(0); }, {".output", ".lhs"});
  const Calls<Softmax> softmax(planned, {.statistics = RowStatistics::write},
                               {.values = no_memory(0), .output = no_memory(1), .row_statistics = no_memory(2)});
  softmax.refused([](auto& call) { call.row_statistics = no_memory(1); }, {".row_statistics", ".output"});
  softmax.refused([](auto& call) { call.row_statistics = no_memory(0); }, {".row_statistics", ".values"});
  Calls<SoftmaxBackward>(planned, {}, gradient_call)
      .refused([](auto& call) { call.input_gradient = no_memory(0); }, {".probabilities"});
  Calls<DepthwiseConvolution>(planned, depthwise, depthwise_call)
      .refused([](auto& call) { call.output = no_memory(0); }, {".input"});
  Calls<Im2col>(planned, patches, patches_call).refused([](auto& call) { call.output = no_memory(0); }, {".input"});

  const Calls<SparseAttention> attention(planned, {.n = 8}, attention_call);
  for (int input = 0; input < 3; ++input)
    attention.refused([&](auto& call) { call.output = no_memory(input); }, {".output"});
  attention.refused([](auto& call) { call.workspace = no_memory(3); }, {".workspace", ".output"});
  attention.refused([](auto& call) { call.workspace = no_memory(0); }, {".workspace", ".query"});
  const Calls<SparseAttentionBackward> backward(planned, {.forward = {.n = 8}}, backward_call);
  backward.refused([](auto& call) { call.key_gradient = no_memory(6); }, {".key_gradient", ".value_gradient"});
  backward.refused([](auto& call) { call.query_gradient = no_memory(3); }, {".query_gradient", ".output_gradient"});
}

TEST_CASE("what may be written in place is, where the output lies as the input does, and else is refused") {
  Planned planned;
  const auto in_place = [](auto& call) { call.output = no_memory(0); };
  Calls<Softmax>(planned, {.batch = 2}, softmax_call).legal(in_place);
  Calls<Softmax>(planned, {.output = Dtype::f16}, softmax_call).refused(in_place, {".output", ".values"});
  const std::int64_t stride = planned.mask.nonzeros() + 8;
  Calls<Softmax>(planned, {.batch = 2, .output_stride = stride}, softmax_call)
      .refused(in_place, {".output", ".values"});
  Calls<Softmax>(planned, {.batch = 2, .value_stride = stride, .output_stride = stride}, softmax_call).legal(in_place);
  Calls<Softmax>(planned, {}, softmax_call)
      .refused([](auto& call) { call.output = behind(no_memory(0), 16); }, {".output", ".values"});

  const auto gradient = [](auto& call) { call.input_gradient = no_memory(1); };
  Calls<SoftmaxBackward>(planned, {}, gradient_call).legal(gradient);
  Calls<SoftmaxBackward>(planned, {.element = Dtype::f16, .output = Dtype::f32}, gradient_call)
      .refused(gradient, {".output_gradient"});
  Calls<BiasActivation>(planned, bias_problem, bias_call).legal(in_place);

  SddmmArguments multiplied = sddmm_call;
  multiplied.multiplier = no_memory(3);
  const auto over_multiplier = [](auto& call) { call.output = no_memory(3); };
  Calls<Sddmm>(planned, {.n = 8, .multiply = true}, multiplied).legal(over_multiplier);
  // One C for the whole batch would be overwritten by the first product.
  Calls<Sddmm>(planned, {.n = 8, .batch = 2, .multiply = true}, multiplied)
      .refused(over_multiplier, {".output", ".multiplier"});
}

TEST_CASE("operands that lie between one another are legal, in whichever layout") {
  Planned planned;
  // B and C are slices of one array of rows.
  const std::int64_t leading = 64;
  const auto slices = [](std::int64_t bytes) {
    return [bytes](auto& call) { call.output = behind(no_memory(1), bytes); };
  };
  const Calls<Spmm> spmm(planned, {.n = 8, .dense_leading = leading, .output_leading = leading}, spmm_call);
  spmm.legal(slices(8 * 4));
  spmm.legal(slices((leading - 8) * 4));
  spmm.refused(slices(4 * 4), {".output", ".dense"});
  spmm.refused(slices(leading * 4), {".output", ".dense"});
  const Calls<Spmm> columns(planned,
                            {.n = 8,
                             .dense_layout = Layout::column_major,
                             .output_layout = Layout::column_major,
                             .dense_leading = leading,
                             .output_leading = leading},
                            spmm_call);
  columns.legal(slices(40 * 4));
  columns.refused(slices(36 * 4), {".output", ".dense"});

  // Gradients in one array [tokens, 3, heads, size].
  const std::int64_t heads = 4, size = 8, row = 3 * heads * size;
  const SparseAttentionBackward problem{.forward = {.n = size,
                                                    .batch = heads,
                                                    .query_leading = row,
                                                    .key_leading = row,
                                                    .value_leading = row,
                                                    .query_stride = size,
                                                    .key_stride = size,
                                                    .value_stride = size}};
  const Calls<SparseAttentionBackward> backward(planned, problem, backward_call);
  const auto sliced = [&](std::int64_t key, std::int64_t value) {
    return [=](auto& call) {
      call.key_gradient = behind(static_cast<float*>(call.query_gradient), key * 4);
      call.value_gradient = behind(static_cast<float*>(call.query_gradient), value * 4);
    };
  };
  backward.legal(sliced(heads * size, 2 * heads * size));
  backward.refused(sliced(heads * size, heads * size + size), {".key_gradient", ".value_gradient"});
}

TEST_CASE("of a plan for several n the operands are as long as this call's n makes them") {
  Planned planned;
  const SpmmPlan plan = planned.plan(Spmm{.n_values = {8, 64}});
  SpmmArguments call = spmm_call;
  call.workspace = no_memory(60);
  call.n = 8;
  call.output = behind(no_memory(1), 40 * 8 * 4);  // just behind B
  plan.execute(nullptr, call);
  call.n = 64;
  CHECK(code_of([&] { plan.execute(nullptr, call); }) == ErrorCode::invalid_argument);
}
