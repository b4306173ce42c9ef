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

#include <abi/nonzero_split.h>
#include <abi/row_tile.h>
#include <abi/staged_rows.h>

#include "codegen/fields.hpp"
#include "ops/spmm/problem.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::pick;

/// What the kernel of these traits and this config says of them.
template <class Traits, class Config>
std::string broken_rule_of(const FieldMap& traits, const FieldMap& config) {
  const char* const sentence = broken_rule(codegen::from_map<Traits>(traits).value(), codegen::from_map<Config>(config).value());
  return sentence == nullptr ? "" : sentence;
}

/// By the name of the config.
const std::map<std::string, std::string (*)(const FieldMap&, const FieldMap&)>& kernels() {
  static const std::map<std::string, std::string (*)(const FieldMap&, const FieldMap&)> all = {
      {"RowTileConfig", broken_rule_of<RowTileTraits, RowTileConfig>},
      {"NonzeroSplitConfig", broken_rule_of<NonzeroSplitTraits, NonzeroSplitConfig>},
      {"StagedRowsConfig", broken_rule_of<StagedRowsTraits, StagedRowsConfig>},
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
  for (int i = 0; i < 12; ++i) {
    Spmm problem = test::random_tensor_problem(random);
    if (random.below(4) == 0) problem.math = Math::strict;
    problem.sparse_transposed = random.below(4) == 0;
    problem.nonfinite = pick(random, {NonFinite::dense, NonFinite::sparse});
    if (random.below(4) == 0) problem.n = 1 + random.below(4);
    const auto statistics = test::statistics_of(64 + random.below(5000), 64 + random.below(5000), 0.02 + 0.4 * random.uniform());
    list.push_back(ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr));
  }
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

void compare(const ops::Family& family, const ops::Query& query, sparse::Random& random, Answers& answers) {
  const std::vector<FieldMap> space = family.space(query);
  const std::vector<Specialisation> standard = with_rules(family.launches(query, family.default_config(query), {}));
  if (standard.empty()) return;
  for (int i = 0; i < 400; ++i) {
    const FieldMap config = changed(space[static_cast<std::size_t>(random.below(std::ssize(space)))], random);
    INFO(to_text(config));
    const auto reason = family.forbidden(query, config);
    if (reason) {
      Specialisation asked = standard.front();
      asked.config.fields = config;
      const std::string sentence = asked.broken_rule();
      if (sentence.empty()) continue;
      CHECK(*reason == sentence);
      ++answers.refused_by_kernel;
    } else {
      for (const Specialisation& launched : with_rules(family.launches(query, config, {}))) CHECK(launched.broken_rule() == "");
      ++answers.admitted;
    }
  }
}

}  // namespace

TEST_CASE("a family refuses what breaks a rule of its kernel, in the kernel's words, and launches nothing that does") {
  constexpr std::uint64_t seed = 4202;
  std::printf("kernel rules: seed %llu\n", static_cast<unsigned long long>(seed));
  const std::map<std::string_view, Queries (*)(sparse::Random&)> operations = {{"spmm", spmm_queries}};
  sparse::Random random(seed);
  for (const auto& [operation, queries] : operations)
    for (const auto& family : ops::families(operation)) {
      Answers answers;
      for (const auto& query : queries(random))
        if (!family->declines(*query)) compare(*family, *query, random, answers);
      if (answers.admitted == 0) continue;
      INFO("family ", std::string(family->name()));
      CHECK(answers.admitted > 20);
      CHECK(answers.refused_by_kernel > 20);
    }
}
