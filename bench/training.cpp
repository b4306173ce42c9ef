// What a new mask costs a training run: a topology from arrays on the device, and the three plans of a layer rebound to
// it - forward SpMM, transposed SpMM for the input's gradient, SDDMM for the weights'. Only the public API is measured.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "bench/harness/counting_allocator.hpp"
#include "bench/harness/current_context.hpp"
#include "bench/harness/entry.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/run_record.hpp"
#include "cli/enum_option.hpp"
#include "context_state.hpp"
#include "sparse/generate.hpp"
#include "tune/samples.hpp"
#include "tune/sddmm_case.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

struct TrainingOptions : RunOptions {
  std::int64_t rows = 2048;
  std::int64_t cols = 2048;
  std::int64_t n = 256;  ///< tokens of a step
  double sparsity = 0.9;
  int masks = 200;
  Dtype element = Dtype::f32;
  std::uint64_t seed = 1;
};

constexpr double goal_us = 300;
/// Of the row lengths: as in masks from random pruning.
constexpr double row_variation = 0.12;

/// Microseconds of the parts of one step, each until its call returned; `settled`: all of them, until the device was
/// done too.
struct Step {
  double topology, forward, input_gradient, weight_gradient, settled;
};

/// All with as many nonzeros. A few are enough: nothing remembers a mask by what it holds.
std::vector<sparse::Csr> draw_masks(const TrainingOptions& options) {
  constexpr int most = 20;
  std::vector<sparse::Csr> masks;
  for (int i = 0; i <= std::min(options.masks, most); ++i)
    masks.push_back(sparse::uniform(options.rows, options.cols, options.sparsity,
                                    options.seed + static_cast<std::uint64_t>(i), row_variation));
  return masks;
}

/// A sparse layer whose mask is replaced again and again.
class Layer {
 public:
  Layer(Context context, const TrainingOptions& options, const std::vector<sparse::Csr>& masks)
      : context_(std::move(context)),
        options_(options),
        device_(context_.state()->session->device()),
        masks_(masks),
        mask_(&masks.front()),
        row_offsets_(device_, (options.rows + 1) * 4),
        column_indices_(device_, mask_->nonzeros() * 4),
        values_(device_, mask_->nonzeros() * size_of(options.element)),
        weight_gradient_(device_, values_.bytes()),
        input_(device_, options.cols * options.n * size_of(options.element)),
        input_gradient_(device_, input_.bytes()),
        output_(device_, options.rows * options.n * size_of(options.element)),
        output_gradient_(device_, output_.bytes()) {
    for (const device::Buffer* buffer : {&values_, &input_, &output_gradient_})
      device_.fill(stream(), buffer->data(), 0, buffer->bytes());
    set_mask(0);
    topology_ = new_topology();
    forward_plan_ = context_.plan(Spmm{.n = options.n, .element = options.element}, topology_);
    input_gradient_plan_ =
        context_.plan(Spmm{.n = options.n, .element = options.element, .sparse_transposed = true}, topology_);
    weight_gradient_plan_ = context_.plan(Sddmm{.n = options.n, .element = options.element}, topology_);
    execute();
    settle();
  }

  /// Replaces the mask by the i-th; its arrays are on the device before the clock starts.
  Step step(int i) {
    set_mask(i);
    Stopwatch whole, parts;
    Step step{};
    topology_ = new_topology();
    step.topology = parts.lap_us();
    forward_plan_ = forward_plan_.rebind(topology_);
    step.forward = parts.lap_us();
    input_gradient_plan_ = input_gradient_plan_.rebind(topology_);
    step.input_gradient = parts.lap_us();
    weight_gradient_plan_ = weight_gradient_plan_.rebind(topology_);
    step.weight_gradient = parts.lap_us();
    device_.synchronize(stream());
    step.settled = whole.lap_us();
    execute();
    settle();
    return step;
  }

  /// What is wrong with the plans as they are, against float64; empty where nothing is.
  std::string verify() {
    const auto check = [&](const char* what, auto& operands, const auto& plan) {
      const Workspace workspace = plan.make_workspace();
      operands.set_workspace(workspace);
      const tune::Check result = operands.verify([&](Stream on) { plan.execute(on, operands.call()); });
      return result.wrong.empty() ? std::string() : fmt::format("{}: {}", what, result.wrong);
    };
    tune::SpmmCase forward(device_, forward_plan_.problem(), *mask_, options_.seed);
    tune::SpmmCase input_gradient(device_, input_gradient_plan_.problem(), *mask_, options_.seed);
    tune::SddmmCase weight_gradient(device_, weight_gradient_plan_.problem(), *mask_, options_.seed);
    std::string wrong = check("forward", forward, forward_plan_);
    if (wrong.empty()) wrong = check("gradient of the input", input_gradient, input_gradient_plan_);
    if (wrong.empty()) wrong = check("gradient of the weights", weight_gradient, weight_gradient_plan_);
    return wrong;
  }

 private:
  Stream stream() const { return device_.own_stream(); }

  void set_mask(int i) {
    mask_ = &masks_[static_cast<std::size_t>(i) % masks_.size()];
    const std::vector<std::int32_t> offsets(mask_->row_offsets.begin(), mask_->row_offsets.end());
    device_.copy_to_device(row_offsets_.data(), offsets.data(), row_offsets_.bytes());
    if (mask_->nonzeros() > 0)
      device_.copy_to_device(column_indices_.data(), mask_->column_indices.data(), column_indices_.bytes());
  }

  Topology new_topology() const {
    return context_.topology({.rows = options_.rows,
                              .cols = options_.cols,
                              .row_offsets = row_offsets_.as<const std::int32_t>(),
                              .column_indices = column_indices_.as<const std::int32_t>(),
                              .nonzeros = mask_->nonzeros()},
                             stream());
  }

  /// One forward and backward pass, waited for: what the old mask leaves behind is free then.
  void execute() {
    const Workspace forward_scratch = forward_plan_.make_workspace(),
                    input_scratch = input_gradient_plan_.make_workspace(),
                    weight_scratch = weight_gradient_plan_.make_workspace();
    forward_plan_.execute(
        stream(),
        {.values = values_.data(), .dense = input_.data(), .output = output_.data(), .workspace = forward_scratch});
    input_gradient_plan_.execute(stream(), {.values = values_.data(),
                                            .dense = output_gradient_.data(),
                                            .output = input_gradient_.data(),
                                            .workspace = input_scratch});
    weight_gradient_plan_.execute(stream(), {.lhs = output_gradient_.data(),
                                             .rhs = input_.data(),
                                             .output = weight_gradient_.data(),
                                             .workspace = weight_scratch});
    device_.synchronize(stream());
  }

  /// Memory that waited for queued work is given back when memory is next asked for.
  void settle() const { const device::Buffer one_byte(device_, 1); }

  Context context_;
  const TrainingOptions& options_;
  device::Device& device_;
  const std::vector<sparse::Csr>& masks_;
  const sparse::Csr* mask_;  ///< the present one
  device::Buffer row_offsets_, column_indices_, values_, weight_gradient_, input_, input_gradient_, output_,
      output_gradient_;
  Topology topology_;
  SpmmPlan forward_plan_, input_gradient_plan_;
  SddmmPlan weight_gradient_plan_;
};

/// Of what was alive after each mask.
bool is_constant_after_second(const std::vector<std::int64_t>& bytes) {
  return std::all_of(bytes.begin() + 1, bytes.end(), [&](std::int64_t alive) { return alive == bytes[1]; });
}

class Training {
 public:
  explicit Training(const TrainingOptions& options)
      : options_(options),
        masks_(draw_masks(options)),
        context_(open_context(options)),
        current_(options.device, context_.device().gpu),
        record_("training", options, context_) {}

  /// Whether everything was right but for the time, which depends on the machine.
  bool run() {
    print_device(context_.device());
    Json row = {{"rows", options_.rows},
                {"cols", options_.cols},
                {"n", options_.n},
                {"sparsity", options_.sparsity},
                {"element", name(options_.element)},
                {"masks", options_.masks}};
    const bool right = measure(row);
    const bool steady = count_memory(row);
    record_.add_row(std::move(row));
    record_.write(true);
    return right && steady;
  }

 private:
  bool measure(Json& row) {
    Layer layer(context_, options_, masks_);
    std::string wrong = layer.verify();
    const std::int64_t compiled_first = context_.counters().kernels_compiled;
    std::vector<Step> steps;
    for (int i = 1; i <= options_.masks; ++i) steps.push_back(layer.step(i));
    const std::int64_t compiled_later = context_.counters().kernels_compiled - compiled_first;
    if (wrong.empty()) wrong = layer.verify();
    std::fputs(
        fmt::format("verified against float64, first mask and last: {}\n", wrong.empty() ? "yes" : "NO: " + wrong)
            .c_str(),
        stdout);
    row["verified"] = wrong.empty();
    row["wrong"] = text_or_null(wrong);
    row["goal_us"] = goal_us;
    const auto note = [&](const char* part, double Step::* member) {
      std::vector<double> samples_us;
      for (const Step& step : steps) samples_us.push_back(step.*member);
      const double worst_us = *std::max_element(samples_us.begin(), samples_us.end());
      const tune::Summary summary = tune::summarise(samples_us);
      row["steps"][part] = {{"median_us", number(summary.median_us)},
                            {"spread_us", number(summary.spread_us)},
                            {"worst_us", number(worst_us)}};
      std::fputs(fmt::format("  {:<24} {:>9.1f} +- {:.1f} us, worst {:.1f}\n", part, summary.median_us,
                             summary.spread_us, worst_us)
                     .c_str(),
                 stdout);
      return summary.median_us;
    };
    note("topology", &Step::topology);
    note("rebind_forward", &Step::forward);
    note("rebind_input_gradient", &Step::input_gradient);
    note("rebind_weight_gradient", &Step::weight_gradient);
    const double median_us = note("settled", &Step::settled);
    std::fputs(fmt::format("target: {} us from the call of topology until the device was done (settled): {}\n", goal_us,
                           median_us <= goal_us ? "met" : "NOT met")
                   .c_str(),
               stdout);
    row["kernels_compiled_after_first"] = compiled_later;
    std::fputs(fmt::format("kernels compiled after the first mask: {}\n", compiled_later).c_str(), stdout);
    return wrong.empty() && compiled_later == 0;
  }

  /// The same masks once more, in a context whose memory is counted: its allocator is slower, so that nothing is timed
  /// here.
  bool count_memory(Json& row) const {
    const auto allocator = std::make_shared<CountingAllocator>(current_.cuda());
    Layer layer(open_context(options_, allocator), options_, masks_);
    std::vector<std::int64_t> bytes = {allocator->bytes_alive()};
    for (int i = 1; i <= options_.masks; ++i) {
      layer.step(i);
      bytes.push_back(allocator->bytes_alive());
    }
    const auto [least, most] = std::minmax_element(bytes.begin() + 1, bytes.end());
    const bool constant = is_constant_after_second(bytes);
    row["device_bytes"] = {{"first", bytes.front()},
                           {"least_later", *least},
                           {"most_later", *most},
                           {"last", bytes.back()},
                           {"constant_after_second", constant}};
    std::fputs(
        fmt::format("device memory: {} bytes at the first mask, {} to {} later, {} at the last: {} after the second\n",
                    bytes.front(), *least, *most, bytes.back(), constant ? "constant" : "NOT constant")
            .c_str(),
        stdout);
    return constant;
  }

  TrainingOptions options_;
  std::vector<sparse::Csr> masks_;
  Context context_;
  CurrentContext current_;
  RunRecord record_;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  TrainingOptions options;
  CLI::App app(
      "A layer whose mask is replaced again and again: topology and three rebinds. The exit status is 0 when the "
      "products were "
      "right, device memory constant after the second mask, and no kernel compiled after the first.",
      "bench_training");
  add_options(app, options);
  app.add_option("--rows", options.rows, "Rows of the mask")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--cols", options.cols, "Columns of the mask")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--n", options.n, "Tokens of a step")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--sparsity", options.sparsity, "Share of zeros")->capture_default_str()->check(CLI::Range(0.0, 1.0));
  app.add_option("--masks", options.masks, "How often the mask is replaced")
      ->capture_default_str()
      ->check(CLI::Range(2, 1'000'000));
  vostok::cli::add_enum_option(app, "--dtype", options.element, "Element type: f32, f16 or bf16");
  app.add_option("--seed", options.seed, "Seed of masks and operands")->capture_default_str();
  return run_program(app, argc, argv, options, [&] { return Training(options).run() ? 0 : 1; });
}
