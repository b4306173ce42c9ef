#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include <abi/row_softmax.h>
#include <abi/split_softmax.h>

#include "config_fields.hpp"
#include "contains.hpp"
#include "ops/softmax/problem.hpp"

using namespace vostok;

namespace {

TopologyStatistics rows_like(std::int64_t rows, double mean, std::int64_t longest) {
  return {.rows = rows,
          .cols = 1 << 20,
          .nonzeros = static_cast<std::int64_t>(static_cast<double>(rows) * mean),
          .longest_row = longest,
          .mean_row = mean,
          .row_variation = 0.4};
}

std::vector<std::shared_ptr<const ops::Query>> queries(std::string_view operation) {
  std::vector<std::shared_ptr<const ops::Query>> list;
  for (const TopologyStatistics& s : {rows_like(1, 1, 1), rows_like(1000, 3, 9), rows_like(5000, 200, 300),
                                      rows_like(7, 1e6, 2000000), rows_like(100, 0, 0)}) {
    if (operation == "softmax") {
      list.push_back(ops::make_query(Softmax{}, s, {}, nullptr));
      list.push_back(ops::make_query(Softmax{.batch = 8, .element = Dtype::f16, .statistics = RowStatistics::read}, s,
                                     {}, nullptr));
      list.push_back(ops::make_query(
          Softmax{.element = Dtype::bf16, .alignment_bytes = 2, .statistics = RowStatistics::write}, s, {}, nullptr));
    } else {
      list.push_back(ops::make_query(SoftmaxBackward{}, s, {}, nullptr));
      list.push_back(
          ops::make_query(SoftmaxBackward{.batch = 8, .element = Dtype::f16, .output = Dtype::f32}, s, {}, nullptr));
    }
  }
  return list;
}

}  // namespace

TEST_CASE("the default config of every softmax family is admitted, leads space and short list, and neither repeats") {
  for (const std::string_view operation : {"softmax", "softmax_backward"})
    for (const auto& family : ops::families(operation))
      for (const auto& query : queries(operation)) {
        if (family->declines(*query)) continue;
        INFO(std::string(family->name()), " ", query->exact, ", mean row ", query->statistics.mean_row);
        const ops::Config standard = family->default_config(*query);
        CHECK(!family->forbidden(*query, standard));
        const std::vector<ops::Config> space = family->space(*query);
        const std::vector<ops::Config> short_list = family->short_list(*query);
        CHECK(space.front() == standard);
        CHECK(short_list.front() == standard);
        CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
        CHECK(std::set<ops::Config>(short_list.begin(), short_list.end()).size() == short_list.size());
        CHECK(family->predict_us(*query, standard) > 0);
        CHECK(family->needs(*query, standard).strip_entries ==
              (family->name() == "split_softmax" ? std::stoi(test::field(standard, "strip_entries")) : 0));
      }
}

TEST_CASE("softmax rules refuse by reason what the kernels cannot run") {
  const auto query = ops::make_query(Softmax{.alignment_bytes = 8}, rows_like(1000, 500, 2000), {}, nullptr);
  const auto reason = [&](const char* family, const auto& config) {
    return ops::find_family("softmax", family)->forbidden(*query, ops::Config::of(config)).value_or("");
  };
  CHECK(test::contains(reason("row_softmax", RowSoftmaxConfig{.threads_per_row = 3}), "power of two"));
  CHECK(test::contains(reason("row_softmax", RowSoftmaxConfig{.threads_per_row = 4, .rows_per_block = 4}),
                       "whole warps"));
  CHECK(test::contains(reason("row_softmax", RowSoftmaxConfig{.threads_per_row = 1024, .rows_per_block = 2}),
                       "whole warps"));
  CHECK(test::contains(reason("row_softmax", RowSoftmaxConfig{.vector = 4}), "alignment"));
  CHECK(test::contains(reason("row_softmax", RowSoftmaxConfig{.held_vectors = 0}), "held_vectors"));
  CHECK(test::contains(
      reason("row_softmax",
             RowSoftmaxConfig{.threads_per_row = 1024, .rows_per_block = 1, .vector = 2, .held_vectors = 32}),
      "registers"));
  CHECK(test::contains(reason("split_softmax", SplitSoftmaxConfig{.strip_entries = 0}), "strip_entries"));
  CHECK(test::contains(reason("split_softmax", SplitSoftmaxConfig{.strip_entries = 256, .threads_per_strip = 1024}),
                       "nothing"));
  CHECK(reason("split_softmax", SplitSoftmaxConfig{}).empty());
}

TEST_CASE("only a split softmax that reduces needs a workspace and a second launch") {
  const ops::Family& split = *ops::find_family("softmax", "split_softmax");
  const TopologyStatistics s = rows_like(10, 10000, 12000);
  const SplitSoftmaxConfig config{.strip_entries = 4096};
  const auto writes = ops::make_query(Softmax{.batch = 2, .statistics = RowStatistics::write}, s, {}, nullptr);
  CHECK(split.launches(*writes, ops::Config::of(config), {}).size() == 2);
  CHECK(split.workspace_bytes(*writes, ops::Config::of(config)) >= 2 * 30 * 8);
  const auto reads = ops::make_query(Softmax{.batch = 2, .statistics = RowStatistics::read}, s, {}, nullptr);
  CHECK(split.launches(*reads, ops::Config::of(config), {}).size() == 1);
  CHECK(split.workspace_bytes(*reads, ops::Config::of(config)) == 0);
}
