// Every choice that is shipped is one that its family's rules admit today: a choice that they refuse would serve
// nobody.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cache/tuning_content.hpp"
#include "device/offline/boards.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/family.hpp"
#include "ops/resolved_query.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/topology/packed_format.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/nearest.hpp"
#include "plan/predicted_choice.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

/// The exact part of a key as today's fields of the query's problem give it.
std::string exact_of(const ops::Query& query) {
  if (query.operation == "spmm") return ops::exact_key(static_cast<const ops::SpmmQuery&>(query).problem);
  if (query.operation == "sddmm") return ops::exact_key(static_cast<const ops::SddmmQuery&>(query).problem);
  if (query.operation == "softmax") return ops::exact_key(static_cast<const ops::SoftmaxQuery&>(query).problem);
  if (query.operation == "softmax_backward")
    return ops::exact_key(static_cast<const ops::SoftmaxBackwardQuery&>(query).problem);
  if (query.operation == "attention") return ops::exact_key(static_cast<const ops::AttentionQuery&>(query).problem);
  if (query.operation == "attention_backward")
    return ops::exact_key(static_cast<const ops::AttentionBackwardQuery&>(query).problem);
  if (query.operation == "im2col") return ops::exact_key(static_cast<const ops::Im2colQuery&>(query).problem);
  if (query.operation == "depthwise") return ops::exact_key(static_cast<const ops::DepthwiseQuery&>(query).problem);
  if (query.operation == "bias_activation")
    return ops::exact_key(static_cast<const ops::BiasActivationQuery&>(query).problem);
  return "nobody says for this operation";
}

/// The rows that are shipped of a model.
cache::TuningContent shipped(const std::string& model = "nvidia-h200") {
  return cache::read_content(std::filesystem::path(VOSTOK_SOURCE_FOLDER) / "cache/shipped" / (model + ".tuning.txt"));
}

std::string words(const cache::WinnerRow& row) {
  return fmt::format("{}, {} {}", plan::key_words(row.problem), row.winner.family, to_text(row.winner.config));
}

/// The GPUs that shipped choices are asked for: every board that the library describes, and every architecture with as
/// many multiprocessors as the GPU that they were tuned on, so that no size keeps a choice away that the architecture
/// would take.
std::vector<std::string> gpus() {
  std::vector<std::string> all = device::offline::board_names();
  for (const int capability : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})
    all.push_back(fmt::format("architecture=sm_{} multiprocessors=132", capability));
  return all;
}

plan::DeviceKey key_of(const device::Device& device) {
  const DeviceInfo& info = device.info();
  return {.uuid = info.uuid,
          .name = info.name,
          .architecture = info.architecture,
          .multiprocessors = info.multiprocessors,
          .memory_bytes = info.memory_bytes,
          .l2_bytes = info.l2_bytes};
}

/// How a look-up on a device finds a row: nothing where the devices are too far apart.
std::optional<Provenance> found_on(const cache::WinnerRow& row, const plan::DeviceKey& device) {
  const auto matches = plan::best_first(
      {{.winner = row.winner, .device = row.device, .features = row.problem.features, .shipped = true}}, row.problem,
      device);
  return matches.empty() ? std::nullopt : std::optional(matches.front().provenance);
}

/// Why a plan would pass the row over, as the planner asks; nothing where it takes it.
std::optional<std::string> refusal(const ops::Family& family, const ops::Query& query, const FieldMap& fields) {
  if (auto reason = plan::declined(family, query)) return reason;
  const auto config = family.read(fields);
  if (!config) return "a value is not understood";
  return plan::forbidden(family, query, *config, Options().max_workspace_bytes);
}

/// What a plan of an admitted choice is made of lies within the limits of the device.
void check_launches(const ops::Family& family, const ops::Query& query, const ops::Config& config) {
  const device::Device& device = *query.device;
  const std::string format = family.packed_format(query, config);
  CHECK((format.empty() || ops::find_packed_format(format) != nullptr));
  CHECK(family.needs(query, config).packed() == !format.empty());
  const double expected_us = family.predict_us(query, config);
  CHECK((expected_us > 0 && std::isfinite(expected_us)));
  const std::vector<ops::Launch> launches = family.launches(query, config, {});
  CHECK_FALSE(launches.empty());
  for (const ops::Launch& launch : launches) {
    CHECK_FALSE(launch.request().expression.empty());
    CHECK(launch.threads() >= 32);
    CHECK(launch.threads() <= std::min(1024, device.threads_per_multiprocessor()));
    CHECK(launch.shared_bytes() <= device.max_shared_bytes());
  }
}

}  // namespace

TEST_CASE("every shipped choice is of a family that is there, whose rules admit it") {
  std::vector<cache::WinnerRow> winners = shipped().winners;
  REQUIRE(winners.size() > 600);
  const std::vector<cache::WinnerRow> of_h100 = shipped("nvidia-h100").winners;
  CHECK_FALSE(of_h100.empty());
  winners.insert(winners.end(), of_h100.begin(), of_h100.end());
  const test::FakeDevice device;
  for (const cache::WinnerRow& row : winners) {
    INFO(words(row));
    const std::shared_ptr<const ops::Query> query = plan::query_of(row.problem, device);
    REQUIRE(query != nullptr);
    CHECK(exact_of(*query) == row.problem.exact);
    const auto& families = ops::families(row.problem.operation);
    const auto family = std::find_if(families.begin(), families.end(),
                                     [&](const auto& one) { return one->name() == row.winner.family; });
    REQUIRE(family != families.end());
    const auto config = (*family)->read(row.winner.config);
    REQUIRE(config);
    const auto reason = (*family)->forbidden(*query, *config);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}

TEST_CASE(
    "shipped SpMM choices serve their products under any epilogue where they were tuned, but for few that a rule "
    "refuses by a sentence") {
  const cache::TuningContent content = shipped();
  const auto device = device::open_compile_only("NVIDIA H200", {});
  const plan::DeviceKey here = key_of(*device);
  std::map<std::string, std::vector<plan::StoredWinner>> stored;  // by exact text
  for (const cache::WinnerRow& row : content.winners)
    if (row.problem.operation == "spmm" && row.problem.policy == "warm")
      stored[row.problem.exact].push_back(
          {.winner = row.winner, .device = row.device, .features = row.problem.features, .shipped = true});
  int asked = 0;
  int refused = 0;
  for (const auto& [exact, rows] : stored)
    for (const plan::StoredWinner& row : rows) {
      const plan::ProblemKey key{.operation = "spmm", .exact = exact, .features = row.features};
      const auto query = std::static_pointer_cast<const ops::SpmmQuery>(plan::query_of(key, *device));
      REQUIRE(query != nullptr);
      if (!(query->problem.epilogue == Epilogue{})) continue;
      for (const Epilogue& epilogue :
           {Epilogue{.bias = Bias::per_row}, Epilogue{.bias = Bias::per_column, .activation = Activation::gelu},
            Epilogue{.residual = true, .scale = Scale::device},
            Epilogue{.activation = Activation::relu, .accumulate = true}}) {
        Spmm problem = query->problem;
        problem.epilogue = epilogue;
        const auto whole =
            ops::resolved_query<ops::SpmmQuery>("spmm", std::move(problem), query->statistics, query->n, device.get());
        INFO(plan::query_words(*whole), ": ", row.winner.family);
        CHECK(whole->plain == exact);
        plan::StoredWinner plain = row;
        plain.plain = true;
        const auto found = plan::best_first({plain}, plan::problem_key(*whole), here);
        REQUIRE(found.size() == 1);
        CHECK(found.front().provenance == Provenance::shipped);
        const ops::Family* family = ops::find_family("spmm", row.winner.family);
        REQUIRE(family != nullptr);
        const auto reason = refusal(*family, *whole, row.winner.config);
        if (reason) {
          CHECK(reason->size() > 10);
          ++refused;
        }
        ++asked;
      }
    }
  MESSAGE(refused << " of " << asked << " refused");
  CHECK(asked > 2000);
  CHECK(refused <= asked / 100);
}

TEST_CASE(
    "wherever a shipped choice is found - it runs within that GPU's limits or is refused by a sentence, and where it "
    "was tuned it runs") {
  const cache::TuningContent content = shipped();
  std::map<std::string, int> admitted;  // by architecture
  for (const std::string& gpu : gpus()) {
    const auto device = device::open_compile_only(gpu, {});
    const plan::DeviceKey here = key_of(*device);
    for (const cache::WinnerRow& row : content.winners) {
      const auto provenance = found_on(row, here);
      if (!provenance) continue;
      INFO(gpu << ": " << words(row));
      const std::shared_ptr<const ops::Query> query = plan::query_of(row.problem, *device);
      REQUIRE(query != nullptr);
      const ops::Family* family = ops::find_family(row.problem.operation, row.winner.family);
      REQUIRE(family != nullptr);
      const auto reason = refusal(*family, *query, row.winner.config);
      if (*provenance == Provenance::shipped) CHECK_MESSAGE(!reason, reason.value_or(""));
      if (reason) {
        CHECK(reason->size() > 10);
        CHECK(printable(*reason) == *reason);
        continue;
      }
      ++admitted[here.architecture];
      check_launches(*family, *query, family->read(row.winner.config).value());
    }
  }
  // On the architecture of the shipped choices every one; on those around it some.
  CHECK(admitted["sm_90"] >= static_cast<int>(content.winners.size()));
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100"}) {
    const std::string name = architecture;
    CAPTURE(name);
    CHECK(admitted[name] > 100);
  }
}

TEST_CASE(
    "no shipped choice takes far longer than what the cost model expects of its own: a family that came since would "
    "serve better") {
  const cache::TuningContent content = shipped();
  const test::FakeDevice device;
  for (const cache::WinnerRow& row : content.winners) {
    const std::shared_ptr<const ops::Query> query = plan::query_of(row.problem, device);
    REQUIRE(query != nullptr);
    std::string reasons;
    const auto choice = plan::cheapest(*query, Options().max_workspace_bytes, reasons);
    REQUIRE(choice);
    const double expected_us = choice->family->predict_us(*query, choice->config);
    CHECK_MESSAGE(row.winner.median_us <= 3 * expected_us + 1, words(row), " takes ", row.winner.median_us, " us; ",
                  choice->family->name(), " is expected to take ", expected_us);
  }
}
