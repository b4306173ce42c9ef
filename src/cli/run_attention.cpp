#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <vostok/attention.hpp>

#include "base/checked.hpp"
#include "cli/commands.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/attention/problem.hpp"
#include "tune/attention_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_attention_examples =
    "Examples:\n"
    "  vostok run attention --random 1024x1024x0.95 --n 64           one head: each query attends to 5 % of the keys\n"
    "  vostok run attention --matrix mask.mtx --n 64 --batch 8       eight heads that share a mask\n"
    "  vostok run attention --band 4096x256x0.95 --n 64              the mask of the SC20 paper\n"
    "  vostok run attention --random 512x512x0.9 --n 64 --batch 8 --interleaved --dtype bf16\n"
    "                                                                operands as [tokens, heads, size]\n"
    "  vostok run attention --random 512x512x0.9 --n 64 --saved row_statistics --backward\n"
    "                                                                the gradients, from what a forward pass saved";

struct AttentionOptions {
  RunOptions run;
  SparseAttention problem;
  bool interleaved = false;
  bool backward = false;
};

/// Places the heads side by side within a token: [tokens, heads, size].
void interleave(SparseAttention& problem) {
  const std::int64_t value_size = problem.value_size != 0 ? problem.value_size : problem.n;
  const std::int64_t key_heads = ops::key_heads_of(problem);
  problem.query_leading = checked_multiply(problem.batch, problem.n, "a token's elements");
  problem.key_leading = checked_multiply(key_heads, problem.n, "a token's elements");
  problem.value_leading = checked_multiply(key_heads, value_size, "a token's elements");
  problem.output_leading = checked_multiply(problem.batch, value_size, "a token's elements");
  problem.query_stride = problem.key_stride = problem.n;
  problem.value_stride = problem.output_stride = value_size;
}

/// Describes what the problems of both directions share.
Subject describe_attention(const SparseAttention& problem, bool backward, const TopologyStatistics& mask) {
  const std::int64_t value_size = problem.value_size != 0 ? problem.value_size : problem.n;
  std::string words =
      fmt::format("{}softmax(Q[{},{}] K[{},{}]^T / sqrt({}), at the mask) V[{},{}]", backward ? "gradients of " : "",
                  mask.rows, problem.n, mask.cols, problem.n, problem.n, mask.cols, value_size);
  words += problem_words(problem) + fmt::format(", saved {}", name(problem.saved));
  if (problem.query_stride != 0) words += ", heads interleaved";
  if (problem.key_heads != 0) words += fmt::format(", {} heads of keys", problem.key_heads);
  if (problem.capped) words += ", capped";
  if (problem.causal) words += ", causal";
  if (problem.biased) words += ", biased";
  if (problem.dropped) words += ", dropped";
  const std::int64_t heads = problem.batch, key_heads = ops::key_heads_of(problem);
  const auto elements = [](std::int64_t rows, std::int64_t size, std::int64_t leading, std::int64_t stride,
                           std::int64_t of_heads) {
    return stored_elements(Layout::row_major, rows, size, leading, stride, of_heads);
  };
  const double query = elements(mask.rows, problem.n, problem.query_leading, problem.query_stride, heads);
  const double key = elements(mask.cols, problem.n, problem.key_leading, problem.key_stride, key_heads);
  const double value = elements(mask.cols, value_size, problem.value_leading, problem.value_stride, key_heads);
  const double output = elements(mask.rows, value_size, problem.output_leading, problem.output_stride, heads);
  return {.problem = words,
          .work = fmt::format("{} x nonzeros x (n + value size) x batch", backward ? 4 : 2),
          .fields = problem_fields_of(problem, {{"m", mask.rows},
                                                {"k", mask.cols},
                                                {"n", problem.n},
                                                {"value_size", value_size},
                                                {"nonzeros", mask.nonzeros},
                                                {"math", name(problem.math)},
                                                {"backward", backward},
                                                {"saved", name(problem.saved)},
                                                {"key_heads", key_heads},
                                                {"capped", problem.capped},
                                                {"causal", problem.causal},
                                                {"biased", problem.biased},
                                                {"dropped", problem.dropped},
                                                {"interleaved", problem.query_stride != 0}}),
          .footprint = {.rows = static_cast<double>(mask.rows),
                        .nonzeros = static_cast<double>(mask.nonzeros) * (1 + static_cast<double>(problem.batch)),
                        .inputs = query + key + value,
                        .outputs = output + (backward ? query + key + value : 0)}};
}

class AttentionJob final : public JobOf<SparseAttention> {
 public:
  using JobOf::JobOf;

  const char* operation() const override { return "attention"; }
  Subject describe(const TopologyStatistics& mask) const override { return describe_attention(problem(), false, mask); }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& mask,
                                        std::uint64_t seed) const override {
    return std::make_unique<tune::AttentionCase>(device, problem(), mask, seed, made_plan().saved_bytes());
  }
};

/// Plans the gradients and, if they read something saved by the forward pass, that pass.
class AttentionBackwardJob final : public JobOf<SparseAttentionBackward> {
 public:
  using JobOf::JobOf;

  const char* operation() const override { return "attention"; }
  Subject describe(const TopologyStatistics& mask) const override {
    return describe_attention(problem().forward, true, mask);
  }
  AnyPlan plan(const Context& context, const Topology& mask, const PlanOptions& options) override {
    if (problem().forward.saved != Saved::none) forward_ = context.plan(problem().forward, mask, options);
    return JobOf::plan(context, mask, options);
  }
  plan::Survey survey(const Context& context, const Topology& mask, const PlanOptions& options) const override {
    return plan::survey(context.state()->session, [&](const plan::Planner& planner) {
      if (problem().forward.saved != Saved::none) make(planner, problem().forward, mask, options);
      make(planner, problem(), mask, options);
    });
  }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& mask,
                                        std::uint64_t seed) const override {
    const std::int64_t saved_bytes = forward_ ? forward_.saved_bytes() : 0;
    auto operands = std::make_unique<tune::AttentionBackwardCase>(device, problem(), mask, seed, saved_bytes);
    if (!forward_) return operands;
    const Workspace workspace = forward_.make_workspace();
    AttentionArguments call = operands->forward_call();
    call.workspace = workspace;
    forward_.execute(device.own_stream(), call);
    device.synchronize(device.own_stream());
    return operands;
  }

 private:
  AttentionPlan forward_;
};

}  // namespace

void add_attention(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<AttentionOptions>();
  SparseAttention& problem = options->problem;
  CLI::App& app =
      *parent.add_subcommand("attention", "Attention at a sparse mask: softmax(Q K^T / sqrt(n)) V, and its gradients");
  app.footer(run_attention_examples);
  add_matrix_options(app, options->run, "The mask, [queries, keys]");
  add_band_option(app, options->run);
  add_required_size_option(app, "--n", problem.n, "Size of a query and of a key in one head");
  add_size_option(app, "--value-size", problem.value_size, "Size of a value in one head; 0: n");
  add_problem_options(app, problem);
  add_size_option(app, "--key-heads", problem.key_heads, "Heads of keys and values, a divisor of the batch; 0: batch");
  app.add_flag("--capped", problem.capped, "Scores go through tanh, as some models cap them");
  app.add_flag("--causal", problem.causal, "No query attends to keys behind its own; the last one's is the last");
  app.add_flag("--biased", problem.biased, "Each element of the mask has a bias, the same for all heads");
  app.add_flag("--dropped", problem.dropped, "A quarter of the probabilities is dropped at random");
  app.add_flag("--interleaved", options->interleaved,
               "Heads (the batch) lie side by side within a token: [tokens, heads, size]");
  add_enum_option(app, "--saved", problem.saved,
                  "What the forward pass leaves for the backward pass: none, probabilities or row_statistics");
  app.add_flag("--backward", options->backward, "The gradients by Q, K and V");
  add_run_options(app, options->run);
  app.callback([options, take] {
    if (options->interleaved) interleave(options->problem);
    set_fields(options->problem, options->run);
    if (options->backward)
      take(options->run, std::make_unique<AttentionBackwardJob>(SparseAttentionBackward{.forward = options->problem}));
    else take(options->run, std::make_unique<AttentionJob>(options->problem));
  });
}

}  // namespace vostok::cli
