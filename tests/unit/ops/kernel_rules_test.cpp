// Kernels and families refuse the same configs, whatever users write: the rules of a kernel are its family's first.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <abi/bias_activation.h>
#include <abi/depthwise.h>
#include <abi/fused_backward.h>
#include <abi/fused_backward_pair.h>
#include <abi/fused_backward_wgmma.h>
#include <abi/fused_mma.h>
#include <abi/fused_wgmma.h>
#include <abi/im2col.h>
#include <abi/nonzero_split.h>
#include <abi/row_softmax.h>
#include <abi/row_strips.h>
#include <abi/row_tile.h>
#include <abi/sparse_tensor_mma.h>
#include <abi/sparse_tensor_wgmma.h>
#include <abi/sparse_vector.h>
#include <abi/split_softmax.h>
#include <abi/staged_rows.h>
#include <abi/tensor_sample.h>
#include <abi/unpack_mma.h>
#include <abi/unpack_wgmma.h>
#include <abi/wgmma_sample.h>

#include "codegen/fields.hpp"
#include "contains.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::pick;

/// What the kernel of these traits and this config says of them.
template <class Traits, class Config>
std::string broken_rule_of(const FieldMap& traits, const FieldMap& config) {
  const char* const sentence =
      broken_rule(codegen::from_map<Traits>(traits).value(), codegen::from_map<Config>(config).value());
  return sentence == nullptr ? "" : sentence;
}

/// By the name of the config.
const std::map<std::string, std::string (*)(const FieldMap&, const FieldMap&)>& kernels() {
  static const std::map<std::string, std::string (*)(const FieldMap&, const FieldMap&)> all = {
      {"RowTileConfig", broken_rule_of<RowTileTraits, RowTileConfig>},
      {"NonzeroSplitConfig", broken_rule_of<NonzeroSplitTraits, NonzeroSplitConfig>},
      {"StagedRowsConfig", broken_rule_of<StagedRowsTraits, StagedRowsConfig>},
      {"UnpackMmaConfig", broken_rule_of<UnpackMmaTraits, UnpackMmaConfig>},
      {"UnpackWgmmaConfig", broken_rule_of<UnpackWgmmaTraits, UnpackWgmmaConfig>},
      {"SparseTensorMmaConfig", broken_rule_of<SparseTensorTraits, SparseTensorMmaConfig>},
      {"SparseTensorWgmmaConfig", broken_rule_of<SparseTensorTraits, SparseTensorWgmmaConfig>},
      {"SparseVectorConfig", broken_rule_of<SparseVectorTraits, SparseVectorConfig>},
      {"RowStripsConfig", broken_rule_of<RowStripsTraits, RowStripsConfig>},
      {"TensorSampleConfig", broken_rule_of<TensorSampleTraits, TensorSampleConfig>},
      {"WgmmaSampleConfig", broken_rule_of<TensorSampleTraits, WgmmaSampleConfig>},
      {"RowSoftmaxConfig", broken_rule_of<SoftmaxTraits, RowSoftmaxConfig>},
      {"SplitSoftmaxConfig", broken_rule_of<SoftmaxTraits, SplitSoftmaxConfig>},
      {"FusedMmaConfig", broken_rule_of<FusedAttentionTraits, FusedMmaConfig>},
      {"FusedBackwardConfig", broken_rule_of<FusedBackwardTraits, FusedBackwardConfig>},
      {"FusedBackwardWgmmaConfig", broken_rule_of<FusedBackwardTraits, FusedBackwardWgmmaConfig>},
      {"FusedBackwardPairConfig", broken_rule_of<FusedBackwardTraits, FusedBackwardPairConfig>},
      {"FusedWgmmaConfig", broken_rule_of<FusedAttentionTraits, FusedWgmmaConfig>},
      {"DepthwiseConfig", broken_rule_of<DepthwiseTraits, DepthwiseConfig>},
      {"BiasActivationConfig", broken_rule_of<BiasActivationTraits, BiasActivationConfig>},
      {"Im2colConfig", broken_rule_of<Im2colTraits, Im2colConfig>},
  };
  return all;
}

/// One "vostok::Name{.field = value, ...}" of an expression.
struct Braced {
  std::string name;
  FieldMap fields;
};

std::string_view after_last_colon(std::string_view text) { return text.substr(text.rfind(':') + 1); }

/// Reads the next one, and moves past it.
Braced next_braced(std::string_view& text) {
  const std::size_t open = text.find('{'), close = text.find('}');
  Braced read{.name = std::string(after_last_colon(text.substr(0, open))), .fields = {}};
  std::string_view list = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  while (!list.empty()) {
    const std::string_view field = list.substr(0, list.find(','));
    const std::size_t equals = field.find(" = ");
    const std::size_t dot = field.find('.');
    read.fields[std::string(field.substr(dot + 1, equals - dot - 1))] = after_last_colon(field.substr(equals + 3));
    list.remove_prefix(std::min(list.size(), field.size() + 1));
  }
  return read;
}

/// The traits and config of the launch whose kernel has rules.
struct Specialisation {
  Braced traits;
  Braced config;

  std::string broken_rule() const { return kernels().at(config.name)(traits.fields, config.fields); }
};

std::vector<Specialisation> with_rules(const std::vector<ops::Launch>& launches) {
  std::vector<Specialisation> list;
  for (const ops::Launch& launch : launches) {
    std::string_view rest = launch.request().expression;
    rest.remove_prefix(rest.find("Fixed<"));
    Specialisation read{.traits = next_braced(rest), .config = next_braced(rest)};
    if (kernels().contains(read.config.name)) list.push_back(std::move(read));
  }
  return list;
}

using Queries = std::vector<std::shared_ptr<const ops::Query>>;

Queries spmm_queries(sparse::Random& random) {
  Queries list;
  // Every family of 16-bit elements serves this one.
  list.push_back(
      ops::make_query(Spmm{.n = 256, .element = Dtype::f16}, test::statistics_of(512, 2048, 0.4), {256, 256}, nullptr));
  for (int i = 0; i < 12; ++i) {
    Spmm problem = test::random_tensor_problem(random);
    if (random.below(4) == 0) problem.math = Math::strict;
    problem.sparse_transposed = random.below(4) == 0;
    problem.nonfinite = pick(random, {NonFinite::dense, NonFinite::sparse});
    if (random.below(4) == 0) problem.n = 1 + random.below(4);
    const auto statistics =
        test::statistics_of(64 + random.below(5000), 64 + random.below(5000), 0.02 + 0.4 * random.uniform());
    list.push_back(ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr));
  }
  return list;
}

Queries sddmm_queries(sparse::Random& random) {
  Queries list;
  for (int i = 0; i < 8; ++i) {
    Sddmm problem{.n = 1 + random.below(std::int64_t{1} << random.below(12))};
    problem.element = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
    problem.math = pick(random, {Math::accurate, Math::tf32, Math::strict});
    problem.batch = 1 + random.below(3);
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
    problem.nonfinite = pick(random, {NonFinite::dense, NonFinite::sparse});
    const auto statistics =
        test::statistics_of(64 + random.below(5000), 64 + random.below(5000), 0.05 + 0.4 * random.uniform());
    list.push_back(ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr));
  }
  return list;
}

template <class Problem>
Queries softmax_queries(sparse::Random& random) {
  Queries list;
  for (int i = 0; i < 4; ++i) {
    Problem problem{.element = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16})};
    problem.alignment_bytes = size_of(problem.element) << random.below(4);
    const auto statistics = test::statistics_of(1000, 1 << 20, static_cast<double>(5 << random.below(12)) / (1 << 20));
    list.push_back(ops::make_query(problem, statistics, {}, nullptr));
  }
  return list;
}

template <class Problem>
Queries attention_queries(sparse::Random& random) {
  Queries list;
  for (int i = 0; i < 6; ++i) {
    SparseAttention problem{.n = 8 * (1 + random.below(16)),
                            .batch = 1 + random.below(8),
                            .element = i % 3 == 2 ? Dtype::f32 : pick(random, {Dtype::f16, Dtype::bf16}),
                            .math = i > 3 ? Math::tf32 : Math::accurate,
                            .capped = i % 2 == 1,
                            .causal = i % 3 == 1,
                            .biased = i % 4 == 3,
                            .dropped = i % 3 == 0};
    if (problem.batch % 2 == 0) problem.key_heads = problem.batch / 2;
    const auto statistics = test::statistics_of(1 + random.below(5000), 64 + random.below(5000), random.uniform());
    list.push_back(ops::make_query(Problem{problem}, statistics, nullptr));
  }
  return list;
}

Queries depthwise_queries(sparse::Random& random) {
  Queries list;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t side = 1 + random.below(100);
    const int kernel = pick(random, {3, 5});
    const DepthwiseConvolution problem{.channels = 1 + random.below(100),
                                       .height = side,
                                       .width = side,
                                       .kernel = kernel,
                                       .stride = pick(random, {1, 2}),
                                       .padding = {kernel, kernel, kernel, kernel},
                                       .element = pick(random, {Dtype::f32, Dtype::f16})};
    list.push_back(ops::make_query(problem, {}, {}, nullptr));
  }
  return list;
}

Queries bias_activation_queries(sparse::Random& random) {
  Queries list;
  for (const int alignment : {4, 8, 16})
    list.push_back(ops::make_query(
        BiasActivation{.rows = 1 + random.below(5000), .columns = 1 + random.below(5000), .alignment_bytes = alignment},
        {}, {}, nullptr));
  return list;
}

Queries im2col_queries(sparse::Random& random) {
  Queries list;
  for (const int channels : {1, 64, 512})
    list.push_back(ops::make_query(
        Im2col{.channels = channels, .height = 8 + random.below(50), .width = 8 * (1 + random.below(8))}, {}, {},
        nullptr));
  return list;
}

bool is_number(const std::string& text) { return text.find_first_not_of("-0123456789") == std::string::npos; }

/// Any number, with those about which rules ask more often than others.
std::string any_number(sparse::Random& random) {
  constexpr std::array usual = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 4096, 65536};
  constexpr std::array rare = {-2147483647 - 1, -1024, -7, -1, 33, 1025, 1 << 30, 2147483647};
  const auto kind = random.below(8);
  if (kind < 5) return std::to_string(usual.at(static_cast<std::size_t>(random.below(usual.size()))));
  if (kind < 7) return std::to_string(rare.at(static_cast<std::size_t>(random.below(rare.size()))));
  return std::to_string(static_cast<std::int32_t>(random.bits()));
}

/// Another value in one field, or in all that hold numbers.
FieldMap changed(FieldMap config, sparse::Random& random) {
  if (random.below(4) == 0) {
    for (auto& [field, value] : config)
      if (is_number(value)) value = any_number(random);
    return config;
  }
  auto& value = std::next(config.begin(), random.below(std::ssize(config)))->second;
  if (is_number(value)) value = any_number(random);
  else if (value == "true" || value == "false") value = value == "true" ? "false" : "true";
  return config;
}

/// Counts of what a family answered, so that no family goes unasked.
struct Answers {
  int admitted = 0;
  int refused_by_kernel = 0;
};

/// Whether k is cut. A kernel that sums a part of it has other traits: it does not store C.
bool cuts_k(const FieldMap& config) {
  const auto field = config.find("k_split");
  return field != config.end() && field->second != "1";
}

void compare(const ops::Family& family, const ops::Query& query, sparse::Random& random, Answers& answers) {
  const std::vector<ops::Config> space = family.space(query);
  const std::vector<Specialisation> standard = with_rules(family.launches(query, family.default_config(query), {}));
  REQUIRE(!standard.empty());
  for (int i = 0; i < 600; ++i) {
    const FieldMap fields = changed(space[static_cast<std::size_t>(random.below(std::ssize(space)))].to_map(), random);
    INFO(to_text(fields));
    const ops::Config config = family.read(fields).value();
    const auto reason = family.forbidden(query, config);
    if (reason) {
      Specialisation asked = standard.front();
      if (cuts_k(fields) != cuts_k(asked.config.fields)) continue;
      // The host asks for the C that the parts' sums become.
      if (cuts_k(fields) && test::contains(*reason, "C's rows")) continue;
      // The default multiplies rows that a launch before makes of a column-major B.
      const auto layout = asked.traits.fields.find("dense_layout");
      const bool made_rows = layout != asked.traits.fields.end() && layout->second == "row_major";
      if (made_rows && test::contains(*reason, "of a row-major B")) continue;
      asked.config.fields = fields;
      const std::string sentence = asked.broken_rule();
      if (sentence.empty()) continue;
      CHECK(*reason == sentence);
      ++answers.refused_by_kernel;
    } else {
      for (const Specialisation& launched : with_rules(family.launches(query, config, {})))
        CHECK(launched.broken_rule() == "");
      ++answers.admitted;
    }
  }
}

}  // namespace

TEST_CASE("a family refuses what breaks a rule of its kernel, in the kernel's words, and launches nothing that does") {
  constexpr std::uint64_t seed = 4202;
  std::printf("kernel rules: seed %llu\n", static_cast<unsigned long long>(seed));
  const std::map<std::string_view, Queries (*)(sparse::Random&)> operations = {
      {"spmm", spmm_queries},
      {"sddmm", sddmm_queries},
      {"softmax", softmax_queries<Softmax>},
      {"softmax_backward", softmax_queries<SoftmaxBackward>},
      {"attention", attention_queries<SparseAttention>},
      {"attention_backward", attention_queries<SparseAttentionBackward>},
      {"depthwise", depthwise_queries},
      {"bias_activation", bias_activation_queries},
      {"im2col", im2col_queries},
  };
  CHECK(operations.size() == ops::operations().size());
  sparse::Random random(seed);
  for (const auto& [operation, queries] : operations)
    for (const auto& family : ops::families(operation)) {
      Answers answers;
      for (const auto& query : queries(random))
        if (!family->declines(*query)) compare(*family, *query, random, answers);
      INFO("family ", std::string(family->name()));
      CHECK_MESSAGE(answers.admitted > 20, answers.admitted);
      CHECK_MESSAGE(answers.refused_by_kernel > 20, answers.refused_by_kernel);
    }
}
