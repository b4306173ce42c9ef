// A family as src/ops/README.md tells to add one: what both sides share and a kernel (tests/toy/), and the host's side
// here. It is in no list, and its kernel is not embedded in the library.
#include <doctest/doctest.h>

#include <set>

#include <abi/part_contracts.h>
#include <toy/abi.h>

#include "codegen/expression.hpp"
#include "codegen/source.hpp"
#include "device/kernel_devices.hpp"
#include "ops/config_list.hpp"
#include "ops/conv/problem.hpp"
#include "ops/grid.hpp"
#include "ops/rules.hpp"
#include "toy/toy_templates.hpp"
#include "tune/conv_case.hpp"

using namespace vostok;

namespace {

static_assert(codegen::lists_every_field<ToyTraits>() && codegen::lists_every_field<ToyConfig>());
static_assert(!UnpacksByTeams<ToyTraits, ToyConfig> && !UnpacksByWarpgroups<ToyTraits, ToyConfig>);

std::int64_t elements(const BiasActivation& problem) { return problem.batch * problem.rows * problem.columns; }

struct ToyBinding {
  ToyArgs fixed;
  std::int64_t blocks;

  device::Dim3 operator()(const BiasActivationArguments& call, ToyArgs& args) const {
    args = fixed;
    args.input = call.input;
    args.bias = call.bias;
    args.output = call.output;
    return ops::grid_of(blocks, 1);
  }
};

struct Toy {
  using Query = ops::BiasActivationQuery;
  using Config = ToyConfig;
  using Case = ops::Case<Query, ToyTraits, ToyConfig>;
  static constexpr std::string_view name = "toy";
  static constexpr const char* why_not_there = "toys run on sm_80 and later";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static constexpr std::array rules = {
      ops::Rule<Case>{"a thread would have more elements than there are", [](const Case& c) {
                        return c.config.elements_per_thread > std::max<std::int64_t>(1, elements(c.query.problem));
                      }}};

  static ToyTraits traits(const Query& query) {
    return {.element = query.problem.element, .bias = query.problem.bias, .activation = query.problem.activation};
  }
  static std::optional<std::string> declines(const Query& query) {
    if (query.problem.bias_element.value_or(Dtype::f32) != Dtype::f32) return "biases have 32 bits";
    return std::nullopt;
  }
  static Config default_config(const Query&) { return {}; }
  static std::vector<Config> space(const Query& query) {
    std::vector<Config> list = {default_config(query)};
    for (const int block_threads : {64, 128, 256})
      for (const int count : {1, 2, 4})
        ops::add_new(list, Config{.block_threads = block_threads, .elements_per_thread = count});
    return list;
  }
  static std::vector<Config> short_list(const Query& query) { return {default_config(query)}; }
  static std::optional<std::string> forbidden(const Query& query, const Config& config) {
    return ops::to_reason(ops::reason_against(Case{query, traits(query), config}, rules));
  }
  static ops::TopologyNeeds needs(const Query&, const Config&) { return {}; }
  static std::int64_t workspace_bytes(const Query&, const Config&) { return 0; }
  static double predict_us(const Query& query, const Config& config) {
    return 2 + static_cast<double>(elements(query.problem)) / 1e6 * config.elements_per_thread;
  }
  static std::vector<ops::Launch> launches(const Query& query, const Config& config, const ops::TopologyPointers&) {
    const BiasActivation& problem = query.problem;
    const ToyArgs fixed{.input = nullptr,
                        .bias = nullptr,
                        .output = nullptr,
                        .elements = elements(problem),
                        .rows = problem.rows,
                        .columns = problem.columns};
    const std::int64_t own = std::int64_t{config.block_threads} * config.elements_per_thread;
    return {ops::Launch::of<BiasActivationArguments, ToyArgs>(
        {.family = "toy",
         .header = "toy/kernel.h",
         .expression = codegen::name_expression("toy", "ToyTraits", traits(query), "ToyConfig", config)},
        {.grid = {}, .block = {static_cast<unsigned>(config.block_threads)}, .shared_bytes = 0},
        ToyBinding{.fixed = fixed, .blocks = ceil_div(elements(problem), own)})};
  }
};

const ops::Family& toy() {
  static const auto made = ops::family_of<Toy>();
  return *made;
}

/// As codegen::make_source does for embedded templates: the library's that the toy includes come first.
device::Source source_of(const codegen::KernelRequest& request, const std::string& architecture) {
  device::Source source{.family = request.family,
                        .text = "#include \"" + request.header + "\"\n",
                        .expression = request.expression,
                        .headers = {},
                        .architecture = architecture};
  std::set<std::string_view> seen;
  for (const char* included : {"abi/enums.h", "abi/fields.h", "abi/rules.h", "abi/fixed.h", "parts/dependent_launch.h",
                               "parts/element.h", "parts/epilogue.h", "parts/loads.h"})
    for (const device::Header& header : codegen::include_closure(included))
      if (seen.insert(header.name).second) source.headers.push_back(header);
  for (const char* own : {"toy/abi.h", "toy/kernel.h"})
    for (const device::Header& header : test::toy_templates())
      if (header.name == own) source.headers.push_back(header);
  return source;
}

BiasActivation problem_of(Dtype element, Bias bias) {
  return {.batch = 3, .rows = 13, .columns = 37, .element = element, .bias = bias, .activation = Activation::gelu};
}

std::shared_ptr<const Toy::Query> query_of(const BiasActivation& problem, const device::Device* device = nullptr) {
  return ops::make_query(problem, {}, {}, device);
}

}  // namespace

TEST_CASE("a family of static members answers by its own query and config, and reads configs as stored") {
  const auto query = query_of(problem_of(Dtype::f16, Bias::per_column));
  CHECK(toy().name() == "toy");
  CHECK_FALSE(toy().runs_on("sm_75"));
  CHECK_FALSE(toy().declines(*query));
  BiasActivation halved = problem_of(Dtype::f16, Bias::per_row);
  halved.bias_element = Dtype::f16;
  CHECK(toy().declines(*query_of(halved)).value_or("") == "biases have 32 bits");
  CHECK(toy().space(*query).front() == toy().default_config(*query));
  CHECK(toy().space(*query).size() == 9);
  CHECK(toy().packed_format(*query, toy().default_config(*query)).empty());
  const auto stored = toy().read({{"elements_per_thread", "4"}, {"forgotten", "7"}});
  REQUIRE(stored);
  CHECK(stored->to_map() == FieldMap{{"block_threads", "128"}, {"elements_per_thread", "4"}});
  CHECK_FALSE(toy().read({{"block_threads", "many"}}));
  const auto reason = [&](const ToyConfig& config) {
    return toy().forbidden(*query, ops::Config::of(config)).value_or("");
  };
  CHECK(reason({.block_threads = 33}) == "block_threads is a multiple of 32 up to 1024");
  CHECK(reason({.elements_per_thread = 8}).empty());
  CHECK(toy().forbidden(*query_of({.rows = 1, .columns = 1}), ops::Config::of(ToyConfig{.elements_per_thread = 2})));
}

TEST_CASE("a family of a test's own compiles, runs and is right on every device") {
  for (const test::NamedDevice& on : test::kernel_devices())
    for (const Dtype element : {Dtype::f32, Dtype::bf16})
      for (const Bias bias : {Bias::none, Bias::per_row, Bias::per_column}) {
        const BiasActivation problem = problem_of(element, bias);
        const auto query = query_of(problem, on.device.get());
        for (const ops::Config& config : {toy().default_config(*query), toy().space(*query).back()}) {
          INFO(on.name, ": ", to_text(config.to_map()));
          REQUIRE_FALSE(toy().forbidden(*query, config));
          ops::Launch launch = toy().launches(*query, config, {}).front();
          const device::Image image =
              on.device->compiler().compile(source_of(launch.request(), on.device->architecture()));
          launch.set_kernel(on.device->load(image, launch.shared_bytes()));
          tune::BiasActivationCase c(*on.device, problem, 35);
          const tune::Check check =
              c.verify([&](Stream stream) { launch.enqueue(*on.device, stream, c.launch_arguments()); });
          CHECK_MESSAGE(check.wrong.empty(), check.wrong);
        }
      }
}
