// Dropout of attention's probabilities: which are kept is what hosts say, of every family and pass, for every seed and
// offset in device memory; and what calls are refused.
#include <doctest/doctest.h>

#include <abi/dropout.h>

#include <array>
#include <cmath>
#include <limits>

#include "contains.hpp"
#include "device/contract.hpp"
#include "device/fused_attention_harness.hpp"
#include "error_code.hpp"
#include "ops/families.hpp"

using namespace vostok;
using test::contains;

namespace {

constexpr std::int64_t lines = 64, heads = 6, key_heads = 2;
using State = std::array<std::uint64_t, 2>;

/// Queries and keys of `lines` lines each, all joined. Values, and output gradients, are one in their own column, and
/// else zero, so that an output has a probability in each of its own.
struct Attending {
  device::Device& device;
  Dtype element = Dtype::f16;
  SparseAttention problem = {
      .n = 16, .value_size = lines, .batch = heads, .key_heads = key_heads, .element = element, .dropped = true};
  sparse::Csr mask = sparse::uniform(lines, lines, 0.3, 21);
  std::vector<float> queries = drawn(heads, 1), keys = drawn(key_heads, 2);
  device::Buffer query = test::stored(device, element, queries), key = test::stored(device, element, keys),
                 value = test::stored(device, element, ones(key_heads)),
                 gradient = test::stored(device, element, ones(heads)),
                 output = test::stored(device, element, std::vector<float>(heads* lines* lines, -7)),
                 by_query = test::stored(device, element, std::vector<float>(queries.size(), -7)),
                 by_key = test::stored(device, element, std::vector<float>(keys.size(), -7)),
                 by_value = test::stored(device, element, std::vector<float>(key_heads* lines* lines, -7));
  device::Buffer state = {device, sizeof(State)};

  std::vector<float> drawn(std::int64_t of_heads, std::uint64_t seed) const {
    return test::held(element, test::drawn(test::ordinary_distributions().front(), of_heads * lines * 16, seed));
  }
  static std::vector<float> ones(std::int64_t of_heads) {
    std::vector<float> values(static_cast<std::size_t>(of_heads * lines * lines));
    for (std::int64_t line = 0; line < of_heads * lines; ++line) values[line * lines + line % lines] = 1;
    return values;
  }

  void put(const State& numbers) const { device.copy_to_device(state.data(), numbers.data(), sizeof(State)); }
  AttentionArguments call(float rate) const {
    return {.query = query.data(),
            .key = key.data(),
            .value = value.data(),
            .output = output.data(),
            .dropout = rate,
            .dropout_state = state.as<std::uint64_t>()};
  }
  AttentionBackwardArguments backward_call(float rate) const {
    return {.query = query.data(),
            .key = key.data(),
            .value = value.data(),
            .output_gradient = gradient.data(),
            .query_gradient = by_query.data(),
            .key_gradient = by_key.data(),
            .value_gradient = by_value.data(),
            .dropout = rate,
            .dropout_state = state.as<std::uint64_t>()};
  }
  std::vector<float> read(const device::Buffer& buffer) const {
    device.synchronize(device.own_stream());
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes()));
    device.copy_to_host(bytes.data(), buffer.data(), buffer.bytes());
    return sparse::from_storage(element, bytes);
  }
};

template <class Problem>
Plan<Problem> planned(const Context& context, const Attending& of, const Problem& problem, const std::string& family) {
  Plan<Problem> plan = context.plan(problem, context.topology(of.mask.view()), PlanOptions{.family = family});
  CHECK(plan.family() == family);
  return plan;
}

template <class Problem, class Call>
void execute(const Attending& of, const Plan<Problem>& plan, Call call) {
  const Workspace workspace = plan.make_workspace();
  call.workspace = workspace;
  plan.execute(of.device.own_stream(), call);
  of.device.synchronize(of.device.own_stream());
}

/// Why a family is not asked here, of a Problem of these operands; nothing where it is.
template <class Problem>
std::optional<std::string> left_out(const ops::Family& family, const Attending& of, const Context& context) {
  if (!family.runs_on(of.device.architecture())) return "it does not run here";
  const Topology topology = context.topology(of.mask.view());
  return family.declines(*ops::make_query(Problem{of.problem}, topology.statistics(), &of.device));
}

/// visit(operands of a type, context, family's name) for each type and family of an operation, whose Problem it is.
template <class Problem, class Visit>
void on_families(const char* operation, Visit visit) {
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    INFO("of " << std::string(name(element)));
    test::on_every_device([&](const Context& context) {
      for (const auto& family : ops::families(operation)) {
        Attending of{test::device_of(context), element};
        const std::string name(family->name());
        CAPTURE(name);
        if (const auto why = left_out<Problem>(*family, of, context)) MESSAGE(name << " skipped: " << *why);
        else visit(of, context, name);
      }
    });
  }
}
template <class Visit>
void on_forward_families(Visit visit) {
  on_families<SparseAttention>("attention", visit);
}

/// How many elements of so many heads are zero where one should not be, or the other way round. found(head, row,
/// column).
template <class Found>
int count_wrong(const Attending& of, std::int64_t of_heads, float rate, const State& state, Found found) {
  int wrong = 0;
  for (std::int64_t head = 0; head < of_heads; ++head) {
    const DropoutKey key = dropout_key(state[0], state[1], static_cast<std::uint64_t>(head));
    for (std::int64_t row = 0; row < lines; ++row)
      for (auto entry = of.mask.row_offsets[row]; entry < of.mask.row_offsets[row + 1]; ++entry) {
        const std::int32_t column = of.mask.column_indices[static_cast<std::size_t>(entry)];
        const bool kept =
            dropout_number(key, static_cast<unsigned>(row), static_cast<unsigned>(column)) >= dropped_below(rate);
        if ((found(head, row, column) != 0) != kept) ++wrong;
      }
  }
  return wrong;
}

}  // namespace

TEST_CASE("dropout keeps the elements that hosts say, forward") {
  on_forward_families([](const Attending& of, const Context& context, const std::string& family) {
    const AttentionPlan plan = planned(context, of, of.problem, family);
    for (const State& state : {State{1, 0}, State{1, 1}, State{0xfedcba9876543210U, 0xffffffffffffffffU}})
      for (const float rate : {0.1F, 0.5F, 0.9F}) {
        CAPTURE(rate);
        of.put(state);
        execute(of, plan, of.call(rate));
        const std::vector<float> output = of.read(of.output);
        CHECK(count_wrong(of, heads, rate, state, [&](std::int64_t head, std::int64_t row, std::int64_t column) {
                return output[(head * lines + row) * lines + column];
              }) == 0);
      }
  });
}

TEST_CASE("dropout keeps the same elements in the gradients by values, of one head of queries at a time") {
  on_families<SparseAttentionBackward>("attention_backward", [](const Attending& of, const Context& context,
                                                                const std::string& family) {
    constexpr State state = {5, 6};
    constexpr float rate = 0.3F;
    of.put(state);
    for (const bool shared : {false, true}) {
      CAPTURE(shared);
      SparseAttention problem = of.problem;
      if (!shared) problem.batch = key_heads;
      const std::int64_t group = problem.batch / key_heads;
      const AttentionBackwardPlan plan = planned(context, of, SparseAttentionBackward{problem}, family);
      std::vector<float> found(heads * lines * lines);
      for (std::int64_t head = 0; head < problem.batch; ++head) {
        // Only this head of queries has a gradient.
        std::vector<float> one(heads * lines * lines);
        for (std::int64_t row = 0; row < lines; ++row) one[(head * lines + row) * lines + row] = 1;
        const device::Buffer gradient = test::stored(of.device, of.element, one);
        AttentionBackwardArguments call = of.backward_call(rate);
        call.output_gradient = gradient.data();
        execute(of, plan, call);
        const std::vector<float> by_value = of.read(of.by_value);
        for (std::int64_t row = 0; row < lines; ++row)
          for (std::int64_t column = 0; column < lines; ++column)
            found[(head * lines + row) * lines + column] = by_value[(head / group * lines + column) * lines + row];
      }
      CHECK(count_wrong(of, problem.batch, rate, state, [&](std::int64_t head, std::int64_t row, std::int64_t column) {
              return found[(head * lines + row) * lines + column];
            }) == 0);
    }
  });
}

TEST_CASE("the same seed and offset give the same bits, and others in the same memory give others") {
  on_forward_families([](const Attending& of, const Context& context, const std::string& family) {
    const AttentionPlan plan = planned(context, of, of.problem, family);
    const Workspace workspace = plan.make_workspace();
    AttentionArguments call = of.call(0.2F);
    call.workspace = workspace;
    // One record, which reads the numbers at each replay.
    const auto recorded = of.device.record([&](Stream stream) { plan.execute(stream, call); });
    const auto outputs = [&](const State& state) {
      of.put(state);
      recorded->replay_us();
      return of.read(of.output);
    };
    const std::vector<float> first = outputs({3, 4});
    CHECK(outputs({3, 5}) != first);
    CHECK(outputs({4, 4}) != first);
    CHECK(outputs({3, 4}) == first);
  });
}

TEST_CASE("the mean of outputs with dropout is the output without") {
  constexpr int draws = 48;
  constexpr float rate = 0.25F;
  on_forward_families([](const Attending& of, const Context& context, const std::string& family) {
    SparseAttention whole = of.problem;
    whole.dropped = false;
    AttentionArguments plain = of.call(0);
    plain.dropout_state = nullptr;
    execute(of, planned(context, of, whole, family), plain);
    const std::vector<float> expected = of.read(of.output);
    const AttentionPlan plan = planned(context, of, of.problem, family);
    std::vector<double> mean(expected.size());
    for (int draw = 0; draw < draws; ++draw) {
      of.put({100, static_cast<std::uint64_t>(draw)});
      execute(of, plan, of.call(rate));
      const std::vector<float> output = of.read(of.output);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += output[i] / draws;
    }
    double error = 0, size = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      error += (mean[i] - expected[i]) * (mean[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    const double deviation = std::sqrt(rate / (1 - rate) / draws);
    CHECK(std::sqrt(error / size) == doctest::Approx(deviation).epsilon(0.1));
  });
}

TEST_CASE("what dropout drops touches no output, whatever it holds") {
  on_forward_families([](Attending& of, const Context& context, const std::string& family) {
    of.put({8, 9});
    const AttentionPlan plan = planned(context, of, of.problem, family);
    execute(of, plan, of.call(0.5F));
    const std::vector<float> usual = of.read(of.output);
    std::vector<float> values = Attending::ones(key_heads);
    constexpr std::int64_t spoilt = 12;
    for (std::int64_t i = 0; i < lines; ++i) values[spoilt * lines + i] = std::numeric_limits<float>::quiet_NaN();
    of.value = test::stored(of.device, of.element, values);
    execute(of, plan, of.call(0.5F));
    const std::vector<float> found = of.read(of.output);
    int wrong = 0, touched = 0;
    for (std::int64_t line = 0; line < heads * lines; ++line) {
      const bool meets = line / lines < heads / key_heads && usual[line * lines + spoilt] != 0;
      touched += meets ? 1 : 0;
      for (std::int64_t i = 0; i < lines; ++i) {
        const float one = found[line * lines + i], other = usual[line * lines + i];
        wrong += meets ? !std::isnan(one) : !(std::abs(one - other) <= 2e-3F * std::abs(other));
      }
    }
    CHECK(wrong == 0);
    CHECK(touched > 20);
    CHECK(touched < heads / key_heads * lines / 2);
  });
}

TEST_CASE("dropout is refused by name where the problem, the rate or the numbers are none") {
  const Context context = test::memory_context("emulator");
  const Attending of{test::device_of(context)};
  of.put({1, 2});
  const Topology topology = context.topology(of.mask.view());
  const auto said = [&](const auto& what, ErrorCode code) {
    std::string message;
    CHECK(test::code_of(what, &message) == code);
    return message;
  };
  SparseAttention in_f32 = of.problem;
  in_f32.element = Dtype::f32;
  for (const SparseAttention& problem : {of.problem, in_f32})
    CHECK(contains(
        said([&] { context.plan(problem, topology, PlanOptions{.family = "composed"}); }, ErrorCode::unsupported),
        "dropped = true"));

  const auto refusals = [&](const auto& plan, const auto& usual) {
    const Workspace workspace = plan.make_workspace();
    const auto refusal = [&](float rate, const std::uint64_t* state, ErrorCode code = ErrorCode::invalid_argument) {
      auto call = usual;
      call.dropout = rate;
      call.dropout_state = state;
      call.workspace = workspace;
      return said([&] { plan.execute(of.device.own_stream(), call); }, code);
    };
    const auto* const state = of.state.template as<std::uint64_t>();
    for (const float rate :
         {0.0F, 1.0F, -0.5F, 1.5F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const std::string message = refusal(rate, state);
      CHECK_MESSAGE(contains(message, fmt::format("dropout = {} is not between 0 and 1", rate)), message);
    }
    CHECK(contains(refusal(0.5F, nullptr), "dropout_state"));
    CHECK(contains(refusal(0.5F, reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(state) + 4),
                           ErrorCode::misaligned_pointer),
                   "dropout_state"));
  };
  refusals(context.plan(of.problem, topology), of.call(0));
  refusals(context.plan(SparseAttentionBackward{of.problem}, topology), of.backward_call(0));

  SparseAttention whole = of.problem;
  whole.dropped = false;
  const AttentionPlan plain = context.plan(whole, topology);
  const Workspace workspace = plain.make_workspace();
  AttentionArguments call = of.call(0.5F);
  call.workspace = workspace;
  CHECK(contains(said([&] { plain.execute(nullptr, call); }, ErrorCode::invalid_argument), "dropout"));
  call.dropout_state = nullptr;
  CHECK(contains(said([&] { plain.execute(nullptr, call); }, ErrorCode::invalid_argument), "dropout = 0.5"));
  call.dropout = 0;
  plain.execute(nullptr, call);
}
