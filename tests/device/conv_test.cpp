// Depthwise convolution, bias with activation, and im2col against float64, on the emulator in several thread orders and
// on every GPU.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/text.hpp"
#include "device/family_run.hpp"
#include "device/pairwise.hpp"
#include "ops/conv/problem.hpp"
#include "sparse/generate.hpp"
#include "tune/conv_case.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 30309;
constexpr std::array types = {Dtype::f32, Dtype::f16, Dtype::bf16};
constexpr std::array activations = {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                    Activation::silu};

const ops::Family& only_family(const ops::Query& query) { return *ops::families(query.operation).front(); }

/// Runs a config (the default where there is none) of the operation's family and compares with float64.
template <class Problem, class Case>
void check_case(const NamedDevice& on, const Problem& problem, Case& c, const ops::Config* config = nullptr) {
  ops::validate(problem, {});
  const auto query = ops::make_query(problem, {}, {}, on.device.get());
  const ops::Family& family = only_family(*query);
  const ops::Config used = config != nullptr ? *config : family.default_config(*query);
  INFO(on.name, ": ", std::string(query->operation), " ", query->exact, "; ", to_text(used.to_map()));
  REQUIRE(!family.declines(*query));
  REQUIRE_MESSAGE(!family.forbidden(*query, used), *family.forbidden(*query, used));
  const tune::Check checked = run_family(*on.device, family, *query, used, {}, c);
  CHECK_MESSAGE(checked.wrong.empty(), checked.wrong);
}

void check(const NamedDevice& on, const DepthwiseConvolution& problem, const ops::Config* config = nullptr) {
  tune::DepthwiseCase c(*on.device, problem, seed);
  check_case(on, problem, c, config);
}
void check(const NamedDevice& on, const BiasActivation& problem, const ops::Config* config = nullptr,
           bool in_place = false) {
  tune::BiasActivationCase c(*on.device, problem, seed, in_place);
  check_case(on, problem, c, config);
}
void check(const NamedDevice& on, const Im2col& problem, const ops::Config* config = nullptr) {
  tune::Im2colCase c(*on.device, problem, seed);
  check_case(on, problem, c, config);
}

/// Each of some configs of the space that the rules admit.
template <class Problem>
void check_sample(const NamedDevice& on, const Problem& problem, std::size_t count, sparse::Random& random) {
  const auto query = ops::make_query(problem, {}, {}, on.device.get());
  std::vector<ops::Config> admitted;
  for (const ops::Config& config : only_family(*query).space(*query))
    if (!only_family(*query).forbidden(*query, config)) admitted.push_back(config);
  REQUIRE(!admitted.empty());
  for (std::size_t i = 0; i < count; ++i)
    check(on, problem, &admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))]);
}

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The element's own alignment, 8 and 16 bytes.
int alignment_of(Dtype type, int index) { return index == 0 ? size_of(type) : 4 << index; }

}  // namespace

TEST_CASE(
    "depthwise: pairs of kernels, strides, types, sizes, paddings, alignments, biases and activations are right") {
  MESSAGE("seed " << seed);
  constexpr std::array<std::array<std::int64_t, 2>, 6> sizes = {{{1, 1}, {2, 3}, {7, 7}, {9, 16}, {14, 14}, {21, 32}}};
  constexpr std::array<Padding, 5> paddings = {{{2, 2, 2, 2}, {1, 1, 1, 1}, {0, 4, 5, 0}, {7, 6, 9, 8}, {4, 1, 3, 2}}};
  for (const std::vector<int>& row : pairwise({2, 2, 3, 6, 5, 3, 3, 5}, seed)) {
    DepthwiseConvolution problem{.batch = 2,
                                 .channels = 3,
                                 .height = sizes[at(row[3])][0],
                                 .width = sizes[at(row[3])][1],
                                 .kernel = row[0] == 0 ? 3 : 5,
                                 .stride = row[1] + 1,
                                 .padding = paddings[at(row[4])],
                                 .element = types[at(row[2])],
                                 .alignment_bytes = alignment_of(types[at(row[2])], row[5]),
                                 .bias = row[6] > 0,
                                 .activation = activations[at(row[7])]};
    if (row[6] == 2) problem.bias_element = problem.element;
    // A window needs more than a pixel and its narrowest padding.
    if (problem.height + problem.padding.top + problem.padding.bottom < problem.kernel)
      problem.padding.bottom += problem.kernel;
    if (problem.width + problem.padding.left + problem.padding.right < problem.kernel)
      problem.padding.right += problem.kernel;
    for (const NamedDevice& on : kernel_devices()) check(on, problem);
  }
}

TEST_CASE("depthwise: configs of the space are right on odd and even images") {
  MESSAGE("seed " << seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    const std::size_t count = thread_sanitized ? 1 : 6;
    check_sample(on,
                 DepthwiseConvolution{.channels = 5, .height = 13, .width = 24, .padding = {1, 1, 1, 1}, .bias = true},
                 count, random);
    check_sample(on,
                 DepthwiseConvolution{.channels = 3,
                                      .height = 17,
                                      .width = 40,
                                      .kernel = 5,
                                      .stride = 2,
                                      .padding = {1, 2, 3, 0},
                                      .element = Dtype::f16},
                 count, random);
    check_sample(on,
                 DepthwiseConvolution{.channels = 7, .height = 11, .width = 15, .stride = 2, .padding = {0, 1, 0, 1}},
                 count, random);
  }
}

TEST_CASE("depthwise: no channels and no images leave nothing to do, and one pixel alone is right") {
  for (const NamedDevice& on : kernel_devices()) {
    check(on, DepthwiseConvolution{.channels = 0, .height = 8, .width = 8});
    check(on, DepthwiseConvolution{.batch = 0, .channels = 4, .height = 8, .width = 8});
    check(on, DepthwiseConvolution{.channels = 1, .height = 3, .width = 3});
    check(on, DepthwiseConvolution{.channels = 1000, .height = 1, .width = 1, .padding = {1, 1, 1, 1}});
  }
}

TEST_CASE("depthwise: a pixel that is not finite reaches the windows that hold it and no others") {
  const float infinity = std::numeric_limits<float>::infinity();
  const DepthwiseConvolution problem{.channels = 2, .height = 9, .width = 12, .padding = {1, 1, 1, 1}};
  for (const float value : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> input = sparse::normal_values(std::int64_t{2} * 9 * 12, seed);
    for (const std::size_t place : {0, 50, 107, 108, 215}) input[place] = value;
    for (const NamedDevice& on : kernel_devices()) {
      tune::DepthwiseCase c(*on.device, problem, seed, input);
      check_case(on, problem, c);
    }
  }
}

TEST_CASE(
    "bias and activation: pairs of types, shapes, biases, activations and alignments are right, in place and not") {
  MESSAGE("seed " << seed);
  constexpr std::array<std::array<std::int64_t, 3>, 7> shapes = {
      {{1, 1, 1}, {1, 3, 5}, {2, 7, 1}, {3, 1, 2}, {2, 16, 64}, {1, 33, 49}, {2, 5, 1000}}};
  constexpr std::array biases = {Bias::none, Bias::per_row, Bias::per_column};
  for (const std::vector<int>& row : pairwise({3, 7, 3, 5, 3, 2, 2}, seed)) {
    const auto [batch, rows, columns] = shapes[at(row[1])];
    BiasActivation problem{.batch = batch,
                           .rows = rows,
                           .columns = columns,
                           .element = types[at(row[0])],
                           .alignment_bytes = alignment_of(types[at(row[0])], row[4]),
                           .bias = biases[at(row[2])],
                           .activation = activations[at(row[3])]};
    if (row[6] == 1) problem.bias_element = problem.element;
    for (const NamedDevice& on : kernel_devices()) check(on, problem, nullptr, row[5] == 1);
  }
}

TEST_CASE("bias and activation: configs of the space are right, and empty matrices leave nothing to do") {
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    check_sample(on, BiasActivation{.rows = 37, .columns = 211, .element = Dtype::f16}, thread_sanitized ? 1 : 5,
                 random);
    check(on, BiasActivation{.rows = 0, .columns = 5});
    check(on, BiasActivation{.rows = 5, .columns = 0});
    check(on, BiasActivation{.batch = 0, .rows = 5, .columns = 5});
  }
}

TEST_CASE("im2col: pairs of kernels, strides, types, sizes, paddings and alignments are exact") {
  MESSAGE("seed " << seed);
  constexpr std::array<std::array<std::int64_t, 2>, 5> sizes = {{{1, 1}, {2, 3}, {7, 7}, {8, 16}, {15, 10}}};
  constexpr std::array<std::array<int, 2>, 4> kernels = {{{1, 1}, {3, 3}, {2, 5}, {7, 1}}};
  constexpr std::array<Padding, 4> paddings = {{{3, 3, 2, 2}, {6, 1, 4, 0}, {0, 8, 0, 9}, {7, 7, 7, 7}}};
  for (const std::vector<int>& row : pairwise({4, 3, 3, 5, 4, 3}, seed)) {
    const Im2col problem{.batch = 2,
                         .channels = 3,
                         .height = sizes[at(row[3])][0],
                         .width = sizes[at(row[3])][1],
                         .kernel_height = kernels[at(row[0])][0],
                         .kernel_width = kernels[at(row[0])][1],
                         .stride = row[1] + 1,
                         .padding = paddings[at(row[4])],
                         .element = types[at(row[2])],
                         .alignment_bytes = alignment_of(types[at(row[2])], row[5])};
    for (const NamedDevice& on : kernel_devices()) check(on, problem);
  }
}

TEST_CASE("im2col: configs of the space are exact, and no channels leave nothing to do") {
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    check_sample(on, Im2col{.channels = 5, .height = 14, .width = 14, .padding = {1, 1, 1, 1}},
                 thread_sanitized ? 1 : 5, random);
    check(on, Im2col{.channels = 0, .height = 14, .width = 14});
  }
}

TEST_CASE("64-bit tile and element numbers give what 32-bit ones give") {
  const DepthwiseConvolution depthwise{.batch = 2, .channels = 3, .height = 9, .width = 8, .padding = {1, 1, 1, 1}};
  const Im2col patches{.batch = 2, .channels = 3, .height = 9, .width = 8};
  const BiasActivation bias{.batch = 2, .rows = 9, .columns = 7};
  for (const NamedDevice& on : kernel_devices()) {
    // The kernels of a problem too large to run, launched with the arguments of the small one.
    const auto run = [&](const auto& problem, tune::Case& c, const char* trait) {
      const auto query = ops::make_query(problem, {}, {}, on.device.get());
      const ops::Family& family = only_family(*query);
      ops::Launch launch = family.launches(*query, family.default_config(*query), {}).front();
      codegen::KernelRequest request = launch.request();
      const std::string narrow = fmt::format("{} = false", trait);
      request.expression.replace(request.expression.find(narrow), narrow.size(), fmt::format("{} = true", trait));
      launch.set_kernel(
          on.device->load(on.device->compiler().compile(codegen::make_source(request, on.device->architecture())), 0));
      const tune::Check checked = c.verify([&](Stream stream) { launch.enqueue(*on.device, stream, c.arguments()); });
      CHECK_MESSAGE(checked.wrong.empty(), checked.wrong);
    };
    tune::DepthwiseCase depthwise_case(*on.device, depthwise, seed);
    run(depthwise, depthwise_case, "wide_tiles");
    tune::Im2colCase patches_case(*on.device, patches, seed);
    run(patches, patches_case, "wide_indices");
    tune::BiasActivationCase bias_case(*on.device, bias, seed);
    run(bias, bias_case, "wide_indices");
  }
}
