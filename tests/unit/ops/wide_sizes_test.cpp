// Sizes past 32 bits: no operation is without a family, and those that serve it count in 64 bits. (Families on tensor
// cores may decline.)
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "contains.hpp"
#include "ops/conv/problem.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"

using namespace vostok;

namespace {

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;

/// 2^20 columns: with 1024 columns of B, 2^31 bytes and more of any type.
TopologyStatistics wide_mask() {
  return {
      .rows = 4096, .cols = 1 << 20, .nonzeros = 1 << 20, .longest_row = 300, .mean_row = 256, .row_variation = 0.1};
}

TopologyStatistics many_nonzeros() {
  return {.rows = 1 << 22,
          .cols = 1 << 20,
          .nonzeros = two_to_31,
          .longest_row = 600,
          .mean_row = 512,
          .row_variation = 0.1};
}

struct Case {
  const char* what;
  std::shared_ptr<const ops::Query> query;
  const char* counts_in_64_bits;  ///< in the kernel's name
};

template <class Problem>
std::shared_ptr<const ops::Query> query_of(const Problem& problem, const TopologyStatistics& statistics,
                                           std::int64_t n = 0) {
  return ops::make_query(problem, statistics, {n, n}, nullptr);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Dtype type : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const Math math : {Math::strict, Math::accurate}) {
      list.push_back({"SpMM, B past 2^31 bytes",
                      query_of(Spmm{.n = 1024, .element = type, .math = math}, wide_mask(), 1024),
                      ".wide_offsets = true"});
      list.push_back({"SDDMM, B past 2^31 bytes",
                      query_of(Sddmm{.n = 1024, .element = type, .math = math}, wide_mask(), 1024),
                      ".wide_offsets = true"});
      list.push_back({"SpMM, 2^31 nonzeros",
                      query_of(Spmm{.n = 64, .element = type, .math = math}, many_nonzeros(), 64),
                      ".wide_nonzeros = true"});
    }
    list.push_back(
        {"softmax, 2^31 nonzeros", query_of(Softmax{.element = type}, many_nonzeros()), ".wide_offsets = true"});
    list.push_back({"softmax's gradient, 2^31 nonzeros", query_of(SoftmaxBackward{.element = type}, many_nonzeros()),
                    ".wide_offsets = true"});
    list.push_back({"bias and activation of 2^31 elements",
                    query_of(BiasActivation{.rows = 1 << 20, .columns = 1 << 11, .element = type}, {}),
                    ".wide_indices = true"});
  }
  return list;
}

/// Those of an operation that use no tensor core.
bool is_simt(std::string_view family) {
  static const std::set<std::string_view> names = {"row_tile",        "nonzero_split", "staged_rows",   "sparse_vector",
                                                   "row_strips",      "row_softmax",   "split_softmax", "depthwise",
                                                   "bias_activation", "im2col"};
  return names.contains(family);
}

}  // namespace

TEST_CASE("every operation has a family for sizes past 32 bits, whose kernel counts in 64") {
  for (const Case& c : cases()) {
    const std::string what = c.what;
    CAPTURE(what);
    CAPTURE(c.query->exact);
    int serving = 0;
    for (const auto& family : ops::families(c.query->operation)) {
      if (!is_simt(family->name()) || family->declines(*c.query)) continue;
      const ops::Config config = family->default_config(*c.query);
      if (family->forbidden(*c.query, config)) continue;
      ++serving;
      bool is_wide = false;
      std::string names;
      for (const ops::Launch& launch : family->launches(*c.query, config, {})) {
        names += launch.request().expression + "\n";
        is_wide = is_wide || test::contains(launch.request().expression, c.counts_in_64_bits);
      }
      CAPTURE(names);
      CHECK(is_wide);
    }
    CHECK(serving >= 1);
  }
}
