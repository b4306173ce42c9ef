// Attention whose scores have biases: plans against float64, what infinite and NaN biases touch, gradients that nobody
// wants, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "contains.hpp"
#include "device/attention_plans.hpp"
#include "device/contract.hpp"
#include "error_code.hpp"
#include "ops/families.hpp"

using namespace vostok;
using test::contains;

namespace {

constexpr std::int64_t queries = 60, keys = 75, size = 16, heads = 2;
constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A way through both passes by name.
struct Families {
  const char* forward;
  const char* backward;
  const char* backward_of_f32;
};

std::vector<Families> families_of(const Context& context) {
  std::vector<Families> list = {{"fused_mma", "fused_backward", "fused_backward"}};
  const std::string& device = test::device_of(context).architecture();
  if (ops::make_fused_wgmma()->runs_on(device))
    list.push_back({"fused_wgmma", "fused_backward_wgmma", "fused_backward_pair"});
  else MESSAGE("families of wgmma skipped: they do not run on " << device);
  return list;
}

std::vector<float> drawn(Dtype element, std::int64_t count, std::uint64_t seed) {
  return test::held(element, test::drawn(test::ordinary_distributions().front(), count, seed));
}

struct Inputs {
  SparseAttention problem;
  sparse::Csr mask = sparse::uniform(queries, keys, 0.8, 21);
  std::vector<float> query, key, value, gradient, bias;

  explicit Inputs(const SparseAttention& of) : problem(of) {
    problem.n = size;
    problem.batch = heads;
    problem.biased = true;
    problem.bias_stride = mask.nonzeros();
    query = drawn(problem.element, heads * queries * size, 1);
    key = drawn(problem.element, ops::key_heads_of(problem) * keys * size, 2);
    value = drawn(problem.element, ops::key_heads_of(problem) * keys * size, 3);
    gradient = drawn(problem.element, heads * queries * size, 4);
    bias = drawn(problem.element, heads * mask.nonzeros(), 5);
  }
  /// The elements of the mask that a query sees.
  bool sees(std::int64_t row, std::int64_t entry) const {
    return !problem.causal || mask.column_indices[entry] <= row + keys - queries;
  }
};

struct Results {
  std::vector<float> output, by_query, by_key, by_value, by_bias;
};

/// `wants`: the gradient by biases.
Results run(const Context& context, const Inputs& in, const Families& families, bool wants = true) {
  device::Device& device = test::device_of(context);
  const Topology topology = context.topology(in.mask.view());
  const Dtype element = in.problem.element;
  const AttentionPlan forward = context.plan(in.problem, topology, PlanOptions{.family = families.forward});
  CHECK(forward.family() == families.forward);
  const auto stored = [&](const std::vector<float>& values) { return test::stored(device, element, values); };
  const auto poisoned = [&](std::size_t count) { return stored(std::vector<float>(count, -7)); };
  const auto read = [&](const device::Buffer& buffer) {
    device.synchronize(device.own_stream());
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes()));
    device.copy_to_host(bytes.data(), buffer.data(), buffer.bytes());
    return sparse::from_storage(element, bytes);
  };
  const device::Buffer query = stored(in.query), key = stored(in.key), value = stored(in.value), bias = stored(in.bias),
                       output = poisoned(in.query.size());
  const float softcap = in.problem.capped ? 1.5F : 0.0F;
  const Workspace workspace = forward.make_workspace();
  forward.execute(device.own_stream(), {.query = query.data(),
                                        .key = key.data(),
                                        .value = value.data(),
                                        .bias = bias.data(),
                                        .output = output.data(),
                                        .scale = -0.25F,
                                        .softcap = softcap,
                                        .workspace = workspace});
  const AttentionBackwardPlan backward =
      context.plan(SparseAttentionBackward{in.problem}, topology, PlanOptions{.family = families.backward});
  CHECK(backward.family() == families.backward);
  const device::Buffer gradient = stored(in.gradient), by_query = poisoned(in.query.size()),
                       by_key = poisoned(in.key.size()), by_value = poisoned(in.value.size()),
                       by_bias = poisoned(in.bias.size());
  const Workspace own = backward.make_workspace();
  backward.execute(device.own_stream(), {.query = query.data(),
                                         .key = key.data(),
                                         .value = value.data(),
                                         .bias = bias.data(),
                                         .output_gradient = gradient.data(),
                                         .query_gradient = by_query.data(),
                                         .key_gradient = by_key.data(),
                                         .value_gradient = by_value.data(),
                                         .bias_gradient = wants ? by_bias.data() : nullptr,
                                         .scale = -0.25F,
                                         .softcap = softcap,
                                         .workspace = own});
  return {read(output), read(by_query), read(by_key), read(by_value), read(by_bias)};
}

/// Lines of `width` that are not `touched` are as they were, but for rounding, and the others are NaN.
void check_lines(const std::vector<float>& usual, const std::vector<float>& found, std::int64_t width,
                 const std::set<std::int64_t>& touched) {
  double error = 0, whole = 0;
  int numbers_where_touched = 0;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (touched.contains(static_cast<std::int64_t>(i) / width)) {
      numbers_where_touched += std::isnan(found[i]) ? 0 : 1;
      continue;
    }
    error += (found[i] - usual[i]) * (found[i] - usual[i]);
    whole += usual[i] * usual[i];
  }
  CHECK(numbers_where_touched == 0);
  CHECK(std::sqrt(error) <= 2e-3 * std::sqrt(whole));  // NaN, where one should not be, is not below
}

/// check(context, problem, families) for plain attention and all that it may have beside biases.
template <class Check>
void on_every_way(Check check) {
  constexpr Dtype f16 = Dtype::f16, f32 = Dtype::f32;
  const SparseAttention problems[] = {{.element = f16},
                                      {.batch = heads, .key_heads = 1, .element = f16},
                                      {.element = f16, .capped = true},
                                      {.element = f16, .causal = true},
                                      {.element = f16, .capped = true, .causal = true},
                                      {.element = f32},
                                      {.element = f32, .math = Math::tf32},
                                      {.batch = heads, .key_heads = 1, .element = f32, .capped = true, .causal = true}};
  test::on_every_device([&](const Context& context) {
    for (Families families : families_of(context))
      for (const SparseAttention& problem : problems) {
        if (problem.element == f32) families.backward = families.backward_of_f32;
        CAPTURE(families.forward);
        INFO("of " << std::string(name(problem.element)));
        CAPTURE(problem.key_heads);
        CAPTURE(problem.capped);
        CAPTURE(problem.causal);
        check(context, problem, families);
      }
  });
}

template <class Problem>
std::string refusal(const Context& context, const Problem& problem, ErrorCode code, const PlanOptions& options = {}) {
  std::string message;
  const Topology topology = context.topology(sparse::uniform(20, 20, 0.5, 1).view());
  CHECK(test::code_of([&] { context.plan(problem, topology, options); }, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("plans of biased attention agree with float64, and so do those for another mask") {
  if (test::left_to_other_builds()) return;
  test::on_every_device([](const Context& context) {
    const sparse::Csr mask = test::uneven_mask(70, 90, 7), other = test::uneven_mask(70, 90, 8);
    for (const Saved saved : {Saved::none, Saved::row_statistics})
      for (const bool beyond : {false, true}) {
        SparseAttention problem{.n = 32, .value_size = 24, .batch = 4, .element = Dtype::bf16, .saved = saved};
        problem.biased = true;
        problem.bias_stride = beyond ? 0 : 90 * 70 + 3;
        problem.key_heads = beyond ? 2 : 0;
        problem.capped = problem.causal = beyond;
        CAPTURE(beyond);
        test::check_both(context, problem, mask);
        const AttentionPlan plan = context.plan(problem, context.topology(mask.view()));
        const tune::Check check = test::verify(context, plan.rebind(context.topology(other.view())), other);
        CHECK_MESSAGE(check.wrong.empty(), check.wrong);
        problem.element = Dtype::f32;
        test::check_both(context, problem, mask);
      }
  });
}

TEST_CASE("elements whose bias is -infinity are left out, whatever their key and value hold") {
  if (test::left_to_other_builds()) return;
  on_every_way([](const Context& context, const SparseAttention& problem, const Families& families) {
    Inputs in(problem);
    constexpr std::int64_t removed = 11;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < in.mask.nonzeros(); ++i)
      if (in.mask.column_indices[i] == removed) places.push_back(i);
    CHECK(!places.empty());
    for (std::int64_t head = 0; head < heads; ++head)
      for (const std::int64_t place : places) in.bias[head * in.mask.nonzeros() + place] = -infinity;
    const Results usual = run(context, in, families);
    for (std::int64_t head = 0; head < ops::key_heads_of(in.problem); ++head)
      for (std::int64_t d = 0; d < size; ++d)
        in.key[(head * keys + removed) * size + d] = in.value[(head * keys + removed) * size + d] = not_a_number;
    const Results found = run(context, in, families);
    check_lines(usual.output, found.output, size, {});
    check_lines(usual.by_query, found.by_query, size, {});
    check_lines(usual.by_key, found.by_key, size, {});
    check_lines(usual.by_value, found.by_value, size, {});
    check_lines(usual.by_bias, found.by_bias, 1, {});
    for (std::int64_t d = 0; d < size; ++d) CHECK(found.by_key[removed * size + d] == 0);
    for (const std::int64_t place : places) CHECK(found.by_bias[place] == 0);
  });
}

TEST_CASE("a bias of NaN or of infinity spoils its query's line, and what meets that in gradients") {
  if (test::left_to_other_builds()) return;
  on_every_way([](const Context& context, const SparseAttention& problem, const Families& families) {
    Inputs in(problem);
    const Results usual = run(context, in, families);
    constexpr std::int64_t row = 37, head = 1;
    const std::int64_t first = in.mask.row_offsets[row], key_head = head / ops::group_of(in.problem);
    std::set<std::int64_t> touched_keys, touched_elements;
    for (std::int64_t i = first; i < in.mask.row_offsets[row + 1]; ++i) {
      if (!in.sees(row, i)) continue;
      touched_keys.insert(key_head * keys + in.mask.column_indices[i]);
      touched_elements.insert(head * in.mask.nonzeros() + i);
    }
    REQUIRE(!touched_keys.empty());
    const std::set<std::int64_t> touched_queries = {head * queries + row};
    for (const float wrong : {not_a_number, infinity}) {
      CAPTURE(wrong);
      in.bias[head * in.mask.nonzeros() + first] = wrong;
      const Results found = run(context, in, families);
      check_lines(usual.output, found.output, size, touched_queries);
      check_lines(usual.by_query, found.by_query, size, touched_queries);
      check_lines(usual.by_key, found.by_key, size, touched_keys);
      check_lines(usual.by_value, found.by_value, size, touched_keys);
      check_lines(usual.by_bias, found.by_bias, 1, touched_elements);
    }
  });
}

TEST_CASE("gradients are the same bits where that by biases is not wanted, and that is then not touched") {
  if (test::left_to_other_builds()) return;
  on_every_way([](const Context& context, const SparseAttention& problem, const Families& families) {
    const Inputs in(problem);
    const Results all = run(context, in, families), some = run(context, in, families, false);
    CHECK(all.by_query == some.by_query);
    CHECK(all.by_key == some.by_key);
    CHECK(all.by_value == some.by_value);
    CHECK(all.by_bias == run(context, in, families).by_bias);
    CHECK(std::count(some.by_bias.begin(), some.by_bias.end(), -7.0F) == std::ssize(some.by_bias));
  });
}

TEST_CASE("biased attention is refused by name where no kernel has biases, and strides that do not fit") {
  const Context context = test::memory_context("emulator");
  const SparseAttention in_f32{.n = 8, .biased = true};
  CHECK(contains(refusal(context, SparseAttentionBackward{in_f32}, ErrorCode::unsupported, test::step_by_step),
                 "biased = true"));
  CHECK(contains(refusal(context, in_f32, ErrorCode::unsupported, test::step_by_step), "biased = true"));
  const SparseAttention in_f16{.n = 8, .batch = 2, .element = Dtype::f16, .biased = true};
  CHECK(contains(refusal(context, in_f16, ErrorCode::unsupported, test::step_by_step), "biased = true"));
  for (const std::int64_t stride : {-1, 199}) {
    SparseAttention problem = in_f16;
    problem.bias_stride = stride;
    CHECK(contains(refusal(context, problem, ErrorCode::invalid_argument), "bias_stride = " + std::to_string(stride)));
  }
  const SparseAttention plain{.n = 8, .element = Dtype::f16, .bias_stride = 200};
  CHECK(contains(refusal(context, plain, ErrorCode::invalid_argument), "the problem is not biased"));
  SparseAttention many = in_f16;
  many.bias_stride = std::numeric_limits<std::int64_t>::max() / 2;
  CHECK(contains(refusal(context, many, ErrorCode::invalid_argument), "biases"));
}

TEST_CASE("a call brings biases where the problem is biased and the mask has elements, and only there") {
  const Context context = test::memory_context("emulator");
  alignas(256) static std::array<std::array<std::uint16_t, std::size_t{20} * 20>, 9> memory;
  for (const double sparsity : {0.5, 1.0})
    for (const bool biased : {false, true}) {
      const Topology topology = context.topology(sparse::uniform(20, 20, sparsity, 1).view());
      const SparseAttention problem{.n = 8, .element = Dtype::f16, .biased = biased};
      const AttentionPlan plan = context.plan(problem, topology);
      const AttentionBackwardPlan gradients = context.plan(SparseAttentionBackward{problem}, topology);
      const Workspace workspace = plan.make_workspace(), own = gradients.make_workspace();
      for (const bool given : {false, true}) {
        const void* const bias = given ? memory[4].data() : nullptr;
        const auto forward = [&] {
          plan.execute(nullptr, {.query = memory[0].data(),
                                 .key = memory[1].data(),
                                 .value = memory[2].data(),
                                 .bias = bias,
                                 .output = memory[3].data(),
                                 .workspace = workspace});
        };
        const auto backward = [&] {
          gradients.execute(nullptr, {.query = memory[0].data(),
                                      .key = memory[1].data(),
                                      .value = memory[2].data(),
                                      .bias = bias,
                                      .output_gradient = memory[3].data(),
                                      .query_gradient = memory[5].data(),
                                      .key_gradient = memory[6].data(),
                                      .value_gradient = memory[7].data(),
                                      .bias_gradient = biased ? memory[8].data() : nullptr,
                                      .workspace = own});
        };
        if (given == biased || (!given && sparsity == 1)) {
          forward();
          backward();
          continue;
        }
        std::string message;
        CHECK(test::code_of(forward, &message) == ErrorCode::invalid_argument);
        CHECK(contains(message, ".bias is"));
        CHECK(test::code_of(backward, &message) == ErrorCode::invalid_argument);
        CHECK(contains(message, ".bias is"));
      }
    }
}
