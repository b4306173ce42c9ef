// A perceptron with sparse weights, trained on a generated classification task beside its dense-masked twin.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/models/classification.hpp"
#include "bench/models/dense_twin.hpp"
#include "bench/models/regrow.hpp"
#include "bench/models/sparse_mlp.hpp"

namespace vostok::bench {
namespace {

using namespace models;

constexpr const char* examples =
    "Examples:\n"
    "  bench_sparse_mlp                                 on the GPU here, else small on the emulator\n"
    "  bench_sparse_mlp --regrow 25                     every 25 steps the least 30 % of the weights go and as many "
    "grow elsewhere\n"
    "  bench_sparse_mlp --hidden 8192 --sparsity 0.98   a wide layer with few weights\n"
    "A step is a forward pass and a backward pass over all samples: SpMM with bias and relu, SDDMM for the weights' "
    "gradient, transposed\n"
    "SpMM for the inputs'. Loss, relu's derivative and the step itself are done on the host, in f32. The twin does the "
    "same in float64 on all\n"
    "cores with dense matrices that are zero outside the masks, from the same start.";

struct Sizes {
  std::int64_t inputs;
  std::int64_t hidden;
  std::int64_t classes;
  std::int64_t samples;
  int steps;
};
constexpr Sizes gpu_sizes{.inputs = 256, .hidden = 2048, .classes = 32, .samples = 1024, .steps = 300};
constexpr Sizes emulator_sizes{.inputs = 32, .hidden = 128, .classes = 4, .samples = 128, .steps = 120};

struct MlpOptions : RunOptions {
  std::optional<std::int64_t> inputs, hidden, classes, samples;  ///< absent: as suits the device
  std::optional<int> steps;
  double sparsity = 0.9;
  int regrow = 0;  ///< steps between two masks; 0: the masks stay
  float rate = 1;
  float noise = 1;
  std::uint64_t seed = 1;

  Sizes sizes(bool gpu) const {
    const Sizes& usual = gpu ? gpu_sizes : emulator_sizes;
    return {.inputs = inputs.value_or(usual.inputs),
            .hidden = hidden.value_or(usual.hidden),
            .classes = classes.value_or(usual.classes),
            .samples = samples.value_or(usual.samples),
            .steps = steps.value_or(usual.steps)};
  }
};

/// What the sparse network's accuracy may be below its twin's.
constexpr double allowance = 0.01;
/// Of the weights, each time.
constexpr double regrown_share = 0.3;

class Training {
 public:
  explicit Training(const MlpOptions& options)
      : options_(options),
        context_(open_context(options)),
        sizes_(options.sizes(context_.device().gpu)),
        record_("sparse_mlp", options, context_),
        training_(make_task(shape(), seed(0), seed(1))),
        held_out_(make_task(shape(), seed(0), seed(2))),
        wide_x_(training_.x.begin(), training_.x.end()),
        first_(random_layer(sizes_.hidden, sizes_.inputs, options.sparsity, seed(3))),
        second_(random_layer(sizes_.classes, sizes_.hidden, options.sparsity, seed(4))),
        twin_(first_, second_),
        mlp_(context_, first_, second_, sizes_.samples),
        compiled_first_(context_.counters().kernels_compiled) {}

  /// Whether the sparse network reached its twin.
  bool run() {
    print_device(context_.device());
    std::fputs(fmt::format("{} inputs, {} hidden, {} classes, {} samples, {:.1f} % sparse: {} weights; seed {}\n",
                           sizes_.inputs, sizes_.hidden, sizes_.classes, sizes_.samples, 100 * options_.sparsity,
                           first_.mask.nonzeros() + second_.mask.nonzeros(), options_.seed)
                   .c_str(),
               stdout);
    for (int step = 1; step <= sizes_.steps; ++step) {
      if (options_.regrow > 0 && step > 1 && (step - 1) % options_.regrow == 0) regrow(step);
      take_step(step);
    }
    return conclude();
  }

 private:
  TaskShape shape() const {
    return {.inputs = sizes_.inputs, .classes = sizes_.classes, .samples = sizes_.samples, .noise = options_.noise};
  }
  /// Streams of numbers that do not meet.
  std::uint64_t seed(std::uint64_t stream) const { return (options_.seed << 32) + (stream << 24); }

  void take_step(int step) {
    Stopwatch watch;
    const double products_before_us = mlp_.products_us();
    const CrossEntropy<float> found = cross_entropy(mlp_.forward(first_, second_, training_.x), training_);
    const MlpGradient<float> gradient = mlp_.backward(found.gradient);
    descend(first_, gradient.first, options_.rate);
    descend(second_, gradient.second, options_.rate);
    const double step_us = watch.lap_us();
    const CrossEntropy<double> expected = cross_entropy(twin_.forward(wide_x_, sizes_.samples), training_);
    twin_.step(twin_.backward(wide_x_, expected.gradient, sizes_.samples), static_cast<double>(options_.rate));
    const double twin_us = watch.lap_us();

    if (!std::isfinite(found.loss))
      fail(ErrorCode::invalid_argument, "cannot train: the loss of step {} is {}; a lower --rate may help", step,
           found.loss);
    steps_us_ += step_us;
    if (step != 1 && step != sizes_.steps && step % std::max(1, sizes_.steps / 10) != 0) return;
    std::fputs(
        fmt::format("  step {:>5}: loss {:.5f} (twin {:.5f}), {:.2f} ms, {:.2f} ms of them products (twin {:.0f} ms)\n",
                    step, found.loss, expected.loss, step_us / 1e3, (mlp_.products_us() - products_before_us) / 1e3,
                    twin_us / 1e3)
            .c_str(),
        stdout);
    std::fflush(stdout);
  }

  void regrow(int step) {
    first_ = regrown(first_, regrown_share, seed(5) + static_cast<std::uint64_t>(step));
    second_ = regrown(second_, regrown_share, seed(6) + static_cast<std::uint64_t>(step));
    Stopwatch watch;
    mlp_.rebind(first_, second_);
    rebinds_us_ += watch.lap_us();
    ++masks_;
    twin_.rebind(first_, second_);
  }

  bool conclude() {
    const double reached = accuracy(mlp_.forward(first_, second_, held_out_.x), held_out_);
    const double wanted = accuracy(twin_.forward({held_out_.x.begin(), held_out_.x.end()}, sizes_.samples), held_out_);
    const double step_ms = steps_us_ / 1e3 / sizes_.steps;
    const double rebind_us = masks_ > 0 ? rebinds_us_ / masks_ : 0;
    const std::int64_t compiled_later = context_.counters().kernels_compiled - compiled_first_;
    if (masks_ > 0)
      std::fputs(fmt::format("new masks: {}, {:.0f} us each for two topologies and six rebinds; kernels compiled since "
                             "training began: {}\n",
                             masks_, rebind_us, compiled_later)
                     .c_str(),
                 stdout);
    const bool right = reached >= wanted - allowance;
    std::fputs(
        fmt::format("{:.2f} ms a step; held-out accuracy: {:.4f} sparse, {:.4f} dense-masked, {:.4f} by chance: {}\n",
                    step_ms, reached, wanted, 1.0 / static_cast<double>(sizes_.classes),
                    right ? "reached" : "NOT reached")
            .c_str(),
        stdout);
    record_.add_row({{"inputs", sizes_.inputs},
                     {"hidden", sizes_.hidden},
                     {"classes", sizes_.classes},
                     {"samples", sizes_.samples},
                     {"steps", sizes_.steps},
                     {"sparsity", options_.sparsity},
                     {"new_masks", masks_},
                     {"step_ms", number(step_ms)},
                     {"rebind_us", masks_ > 0 ? number(rebind_us) : Json()},
                     {"kernels_compiled_later", compiled_later},
                     {"accuracy", reached},
                     {"dense_masked_accuracy", wanted},
                     {"reached", right}});
    record_.write(true);
    return right;
  }

  MlpOptions options_;
  Context context_;
  Sizes sizes_;
  RunRecord record_;
  Task training_;
  Task held_out_;
  std::vector<double> wide_x_;  ///< of the training samples
  Layer first_;
  Layer second_;
  DenseTwin twin_;
  SparseMlp mlp_;
  std::int64_t compiled_first_;
  double steps_us_ = 0;    ///< of the sparse network
  double rebinds_us_ = 0;  ///< of all new masks
  int masks_ = 0;          ///< after the first
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  MlpOptions options;
  CLI::App app(
      "Trains a two-layer perceptron with sparse weights on a generated classification task, beside its dense-masked "
      "twin. The exit status is "
      "0 when its accuracy on samples it has not seen reaches the twin's (less 0.01).",
      "bench_sparse_mlp");
  app.footer(examples);
  add_options(app, options);
  const auto add_size = [&](const char* option, auto& size, const char* what, auto on_gpu, auto on_emulator) {
    app.add_option(option, size, fmt::format("{} (on a GPU {}, else {})", what, on_gpu, on_emulator))
        ->check(CLI::PositiveNumber);
  };
  add_size("--inputs", options.inputs, "Inputs of a sample", gpu_sizes.inputs, emulator_sizes.inputs);
  add_size("--hidden", options.hidden, "Hidden units", gpu_sizes.hidden, emulator_sizes.hidden);
  add_size("--classes", options.classes, "Classes", gpu_sizes.classes, emulator_sizes.classes);
  add_size("--samples", options.samples, "Samples to train on, and as many to test on", gpu_sizes.samples,
           emulator_sizes.samples);
  add_size("--steps", options.steps, "Training steps", gpu_sizes.steps, emulator_sizes.steps);
  app.add_option("--sparsity", options.sparsity, "Share of zeros in both layers' weights")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--regrow", options.regrow,
                 "Prune and regrow the masks after that many steps, again and again; 0: never")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--rate", options.rate, "Learning rate")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--noise", options.noise, "Deviation of the samples from their centres; more is harder")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "Seed of task, masks and weights")->capture_default_str();
  return run_program(app, argc, argv, options, [&] { return Training(options).run() ? 0 : 1; });
}
