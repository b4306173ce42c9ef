#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/runner.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_examples =
    "Examples:\n"
    "  vostok run spmm --random 2048x512x0.9 --n 256            sparse times dense\n"
    "  vostok run sddmm --random 2048x512x0.9 --n 256           a product of dense matrices, where the mask is\n"
    "  vostok run softmax --random 2048x2048x0.9                over the rows of a sparse matrix\n"
    "  vostok run attention --random 1024x1024x0.95 --n 64      with a sparse mask\n"
    "  vostok run depthwise --channels 32 --height 56           a convolution\n"
    "  vostok run attention --help                              every option of a command, with more examples";

}  // namespace

void add_run(CLI::App& parent, int& status, const std::filesystem::path& tool) {
  CLI::App& app = *parent.add_subcommand("run", "Run one operation, verify it against float64, and report");
  app.require_subcommand(1);
  app.footer(run_examples);
  add_operations(
      app, [&status, tool](const RunOptions& options, std::unique_ptr<Job> job) { status = run(options, *job, tool); });
}

void add_operations(CLI::App& parent, const TakeJob& take) {
  add_spmm(parent, take);
  add_sddmm(parent, take);
  add_softmax(parent, take);
  add_attention(parent, take);
  add_depthwise(parent, take);
  add_bias(parent, take);
  add_im2col(parent, take);
}

}  // namespace vostok::cli
