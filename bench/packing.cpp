// What packing the values of a call into strips takes: of A, and of A^T both ways, a block a row strip and neighbouring
// row strips side by side (bench/notes/packing.md#values-of-a-transpose). The bits of both are compared.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/harness/side_by_side.hpp"
#include "cli/enum_option.hpp"
#include "codegen/expression.hpp"
#include "context_state.hpp"
#include "ops/grid.hpp"
#include "ops/topology/pack_strips.hpp"
#include "plan/kernels.hpp"
#include "plan/session.hpp"
#include "plan/topology_state.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"

namespace vostok::bench {
namespace {

struct PackingOptions : RunOptions {
  std::int64_t rows = 8192;
  std::int64_t cols = 8192;
  std::vector<double> sparsities = {0.9};
  Dtype element = Dtype::bf16;
  int rounds = 15;
  bool shapes = false;
  std::uint64_t seed = 1;
};

/// One way to pack.
struct Way {
  std::string name;
  ops::Launch launch;
  bool transposed;
};

ops::StripKind kind_of(Dtype element) {
  return {.mode = element == Dtype::f16    ? PackedMode::f16x1
                  : element == Dtype::bf16 ? PackedMode::bf16x1
                                           : PackedMode::f16x3};
}

/// Strips side by side, in blocks of another size and another number of them than the library's.
ops::Launch shaped(const ops::PackStrips& what, int threads, int blocks_per_multiprocessor) {
  const PackStripsTraits traits{
      .mode = what.kind.mode, .element = what.element, .grain = what.kind.grain, .placed = true};
  const PackStripsConfig config{.threads = threads};
  const std::int64_t groups = what.structure.row_strips / (threads / packed_lanes());
  const std::int64_t splits =
      std::clamp<std::int64_t>(blocks_per_multiprocessor * what.multiprocessors / groups, 1, what.structure.k_blocks);
  const auto binding = [what, groups, splits](const ops::Packing& call, PackStripsArgs& args) {
    ops::pack_strips::bind(what, call, args);
    args.splits = static_cast<unsigned>(splits);
    return ops::grid_of(groups, what.sets * splits);
  };
  codegen::KernelRequest request = ops::pack_strips::request(what);
  request.expression = codegen::name_expression("pack_strips", "PackStripsTraits", traits, "PackStripsConfig", config);
  return ops::Launch::of<ops::Packing, PackStripsArgs>(
      request, {.grid = {}, .block = {static_cast<unsigned>(threads)}, .shared_bytes = shared_bytes(traits, config)},
      binding);
}

class PackingBench {
 public:
  explicit PackingBench(const PackingOptions& options)
      : options_(options),
        context_(open_context(options)),
        session_(context_.state()->session),
        record_("packing", options, context_) {
    record_.set("problem", {{"rows", options.rows},
                            {"cols", options.cols},
                            {"element", name(options.element)},
                            {"format", ops::packed_format(kind_of(options.element))}});
    record_.note_template("topology/pack_strips.h");
    print_device(context_.device());
  }

  /// Whether both ways of a transpose gave the same bits everywhere.
  bool run() {
    bool same = true;
    for (const double sparsity : options_.sparsities) same = measure(sparsity) && same;
    record_.write(true);
    return same;
  }

 private:
  device::Device& device() const { return session_->device(); }

  bool measure(double sparsity) {
    const sparse::Csr csr = sparse::uniform(options_.rows, options_.cols, sparsity, options_.seed);
    const Topology topology = context_.topology(csr.view());
    const std::vector<std::byte> stored =
        sparse::to_storage(options_.element, sparse::normal_values(csr.nonzeros(), options_.seed));
    const device::Buffer values(device(), static_cast<std::int64_t>(stored.size()));
    if (!stored.empty()) device().copy_to_device(values.data(), stored.data(), values.bytes());
    std::vector<Way> ways = ways_of(topology);
    std::vector<device::Buffer> packed;
    std::vector<Contender> contenders;
    for (Way& way : ways) {
      way.launch.set_kernel(session_->kernels().get(way.launch.request(), way.launch.shared_bytes())->kernel);
      const ops::Packing packing{.values = values.data(),
                                 .packed = packed.emplace_back(device(), set_bytes(topology, way.transposed)).data()};
      device().fill(device().own_stream(), packing.packed, 0xff, packed.back().bytes());
      contenders.push_back({.name = way.name, .enqueue = [this, &way, packing](Stream stream) {
                              way.launch.enqueue(device(), stream, &packing);
                            }});
    }
    const std::vector<Timed> timings = time_side_by_side(device(), contenders, options_.rounds);
    Json row = {{"sparsity", number(sparsity)}, {"nonzeros", csr.nonzeros()}, {"ways", Json::array()}};
    std::vector<std::byte> first_transposed;
    bool all_same = true;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Json entry = {{"way", ways[i].name}};
      entry.update(timed_json(timings[i]));
      if (ways[i].transposed) {
        std::vector<std::byte> bits(static_cast<std::size_t>(packed[i].bytes()));
        device().copy_to_host(bits.data(), packed[i].data(), packed[i].bytes());
        if (first_transposed.empty()) first_transposed = bits;
        const bool same = timings[i].timing && bits == first_transposed;
        entry["same_bits"] = same;
        all_same = all_same && same;
      }
      print(sparsity, ways[i].name, timings[i]);
      row["ways"].push_back(std::move(entry));
    }
    std::fputs(fmt::format("  bits of all ways of A^T: {}\n", all_same ? "the same" : "DIFFERENT").c_str(), stdout);
    record_.add_row(std::move(row));
    record_.write(false);
    return all_same;
  }

  static void print(double sparsity, const std::string& way, const Timed& timed) {
    const std::string time =
        timed.timing ? fmt::format("{:>8.2f} +- {:.2f} us", timed.timing->median_us, timed.timing->spread_us)
                     : "failed: " + timed.failure;
    std::fputs(fmt::format("  {:>5.1f} % zeros  {:<32} {}\n", 100 * sparsity, way, time).c_str(), stdout);
  }

  ops::PackStrips packing_of(const Topology& topology, bool transposed, bool placed) const {
    ops::TopologyNeeds needs = ops::strip_needs(PackedGrain::pair);
    needs.transposed = transposed;
    needs.packing = true;
    const PackedStructure structure = topology.state()->pointers(needs).packed;
    const ops::StripKind kind = kind_of(options_.element);
    return {.kind = kind,
            .placed = placed,
            .element = options_.element,
            .structure = structure,
            .layout = ops::packed_layout(kind, structure),
            .value_stride = topology.nonzeros(),
            .multiprocessors = device().info().multiprocessors};
  }

  std::int64_t set_bytes(const Topology& topology, bool transposed) const {
    return packing_of(topology, transposed, transposed).layout.set_bytes;
  }

  std::vector<Way> ways_of(const Topology& topology) const {
    const auto launch = [](const ops::PackStrips& what) {
      return ops::pack_strips_launch<ops::Packing>(what, [](const ops::Packing& call) { return call; });
    };
    const ops::PackStrips beside = packing_of(topology, true, true);
    std::vector<Way> ways = {{"A", launch(packing_of(topology, false, false)), false},
                             {"A^T, a block a row strip", launch(packing_of(topology, true, false)), true},
                             {"A^T, as the library does", launch(beside), true}};
    if (!options_.shapes || packed_scales_rows(beside.kind.mode)) return ways;
    for (const int threads : {128, 256, 512})
      for (const int warps : {16, 32, 48, 64, 96}) {
        const int blocks = warps * packed_lanes() / threads;
        ways.push_back(
            {fmt::format("A^T, {} threads, {} blocks", threads, blocks), shaped(beside, threads, blocks), true});
      }
    return ways;
  }

  PackingOptions options_;
  Context context_;
  std::shared_ptr<plan::Session> session_;
  RunRecord record_;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  PackingOptions options;
  CLI::App app(
      "Packing the values of a call into strips: of A, and of A^T in the old order and the library's. The exit status "
      "is 0 when both gave the same bits.",
      "bench_packing");
  add_options(app, options);
  app.add_option("--rows", options.rows, "Rows of A")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--cols", options.cols, "Columns of A")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--sparsity", options.sparsities, "Shares of zeros")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  vostok::cli::add_enum_option(app, "--dtype", options.element, "Element type: f32, f16 or bf16");
  app.add_option("--rounds", options.rounds, "Rounds of timing")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--shapes", options.shapes, "Also blocks of other sizes, and other numbers of them");
  app.add_option("--seed", options.seed, "Seed of the matrix and its values")->capture_default_str();
  return run_program(app, argc, argv, options, [&] { return PackingBench(options).run() ? 0 : 1; });
}
