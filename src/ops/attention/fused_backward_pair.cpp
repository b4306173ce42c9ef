// fused_backward_pair on the host: rules beside its kernels' (abi/fused_backward_pair.h), its space and its cost model.
#include <algorithm>
#include <array>

#include <abi/fused_backward_pair.h>

#include "ops/attention/backward.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops {

namespace fused_backward_pair {

namespace {

using attention_backward::traits;

static_assert(codegen::lists_every_field<FusedBackwardPairConfig>(),
              "fields(FusedBackwardPairConfig) must name every member");

// Rules: what only the problem or the device knows.

using Case = ops::Case<AttentionBackwardQuery, FusedBackwardTraits, FusedBackwardPairConfig>;
using Rule = ops::Rule<Case>;

/// Of 256, sums of two terms have no registers; those of one were not tried.
constexpr int most_line = 128;

/// Ordered so that each may rely on those before it, and all on the kernels'.
constexpr std::array rules = {
    attention_backward::lines_fit<Case, block_shared_bytes_of_sm_90>,
    Rule{"a pair takes lines of 128 elements at most",
         [](const Case& c) { return std::max(c.traits.key_size, c.traits.value_size) > most_line; }},
    attention_backward::masks_have_tiles<Case>,
};

const char* reason(const AttentionBackwardQuery& query, const FusedBackwardPairConfig& config) {
  return reason_against(Case{query, traits(query, BackwardPart::by_key), config}, rules);
}

// The cost model, for ranking only: cycles of an SM for each tile of each kernel, by its products and by what is made
// of scores beside them. Fitted to three masks on an H200 (bench/notes/attention_in_f32.md#gradients-by-wgmma).

/// Of lines of one term, and of two.
struct ProductCosts {
  double multiply_adds_per_cycle;
  double cycles_beside;  ///< of a product of a tile
};
constexpr ProductCosts costs_of_one_term = {2400, 450}, costs_of_two_terms = {1440, 320};
constexpr double cycles_of_biases = 800;  ///< beside a product

/// One kernel's, of all its tiles.
double walk_cycles(const FusedBackwardTraits& t, double tiles, int products) {
  const ProductCosts costs = t.terms == 2 ? costs_of_two_terms : costs_of_one_term;
  const double size = (multiplied_width(t.key_size) + multiplied_width(t.value_size)) / 2.0;
  const double multiply_adds = fused_attention::products_of_terms(t) * group_queries() * tile_keys() * size;
  const double beside = costs.cycles_beside + (t.biased ? cycles_of_biases : 0);
  return tiles * products * (multiply_adds / costs.multiply_adds_per_cycle + beside);
}

double predict_us(const AttentionBackwardQuery& query, const FusedBackwardPairConfig& config) {
  constexpr double launches_us = 12;
  const FusedBackwardTraits t = traits(query, BackwardPart::by_key);
  const Machine machine = machine_of(query);
  const attention_backward::WalkedTiles tiles = attention_backward::walked_tiles(query, block_queries(config));
  double cycles = walk_cycles(t, tiles.by_query, 3) + walk_cycles(t, tiles.by_key, 4);
  if (!attention_backward::has_row_statistics(query)) cycles += walk_cycles(t, tiles.by_query, 2);
  const double waits = config.stages > 2 ? 1 : 1.02;
  return launches_us + waits * cycles / (machine.multiprocessors * machine.cycles_per_us);
}

// The space, as a table.

constexpr std::array stage_counts = {2, 3, 4, 6};

template <class Visit>
void for_each_config(Visit visit) {
  for (const int stages : stage_counts) visit(FusedBackwardPairConfig{.stages = stages});
}

}  // namespace
}  // namespace fused_backward_pair

namespace {

struct FusedBackwardPair : attention_backward::BackwardFamily<FusedBackwardPair, FusedBackwardPairConfig> {
  static constexpr std::string_view name = "fused_backward_pair";
  static constexpr const char* config_name = "FusedBackwardPairConfig";
  static constexpr const char* features = "a";
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }
  static std::optional<std::string> declines_element(Dtype element) {
    if (element != Dtype::f32) return "elements are f32, multiplied as 16-bit terms";
    return std::nullopt;
  }

  static constexpr auto reason = fused_backward_pair::reason;
  static constexpr auto predict_us = fused_backward_pair::predict_us;
  static constexpr Config smallest_config = {.stages = 2};
  static constexpr std::size_t short_list_length = 4;
  static void for_each_config(const auto& visit) { fused_backward_pair::for_each_config(visit); }
};

}  // namespace

std::unique_ptr<Family> make_fused_backward_pair() { return family_of<FusedBackwardPair>(); }

}  // namespace vostok::ops
