#include "ops/attention/terms.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include <abi/fused_attention.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"

namespace vostok::ops::fused_attention {

namespace {

static_assert(codegen::lists_every_field<SplitTermsTraits>(), "fields(SplitTermsTraits) must name every member");
static_assert(codegen::lists_every_field<SplitTermsConfig>(), "fields(SplitTermsConfig) must name every member");

constexpr std::int64_t alignment_bytes = 256;
constexpr const char* what = "the bytes of split operands";

TermLines lines_at(const TermsPlace& place, void* workspace) {
  return {.terms = static_cast<unsigned short*>(workspace_at(workspace, place.terms_at)),
          .exponents = static_cast<int*>(workspace_at(workspace, place.exponents_at))};
}

/// The operands of a call, as SplitTermsArgs has them.
std::array<const void*, 3> operands_of(const AttentionArguments& call) { return {call.query, call.key, call.value}; }
std::array<const void*, 4> operands_of(const AttentionBackwardArguments& call) {
  return {call.query, call.key, call.value, call.output_gradient};
}

template <class Call>
struct SplitBinding {
  SplitTermsArgs fixed;
  std::array<TermsPlace, 4> places;
  std::int64_t lines_of_block;
  std::int64_t most_lines;

  device::Dim3 operator()(const Call& call, SplitTermsArgs& args) const {
    args = fixed;
    const auto operands = operands_of(call);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      args.operands[i].lines = static_cast<const float*>(operands[i]);
      args.operands[i].to = lines_at(places[i], call.workspace);
    }
    if (most_lines == 0) return {0, 0, 0};
    return {static_cast<unsigned>(ceil_div(most_lines, lines_of_block)), static_cast<unsigned>(operands.size()), 1};
  }
};

SplitLines lines_of(const TermsPlace& place, std::int64_t leading, std::int64_t stride, std::int64_t size) {
  return {.lines = nullptr,
          .to = {},
          .leading = leading,
          .stride = stride,
          .rows = place.rows,
          .count = place.count,
          .size = static_cast<int>(size),
          .part = place.part};
}

/// Takes room behind that of others.
TermsPlace take_place(std::int64_t& bytes, int terms, std::int64_t heads, std::int64_t rows, int part) {
  TermsPlace place{.rows = rows, .count = checked_multiply(heads, rows, what), .part = part};
  const auto take = [&](std::int64_t bytes_of_line) {
    const std::int64_t at = bytes;
    bytes += round_up(checked_multiply(place.count, bytes_of_line, what), alignment_bytes);
    return at;
  };
  place.terms_at = take(std::int64_t{2} * terms * part);
  place.exponents_at = take(sizeof(int));
  return place;
}

void take_operands(TermsPlaces& places, const SparseAttention& attention, const TopologyStatistics& mask,
                   int value_part) {
  const int terms = terms_of(attention), key_part = rounded_head_size(attention.n);
  const std::int64_t key_heads = key_heads_of(attention);
  places.query = take_place(places.bytes, terms, attention.batch, mask.rows, key_part);
  places.key = take_place(places.bytes, terms, key_heads, mask.cols, key_part);
  places.value = take_place(places.bytes, terms, key_heads, mask.cols, value_part);
}

template <class Call>
Launch split_launch(const SparseAttention& attention, const TermsPlaces& places) {
  const SplitTermsTraits t{.terms = terms_of(attention),
                           .longest = std::max(places.key.part, places.value.part),
                           .powers = std::is_same_v<Call, AttentionBackwardArguments>};
  const SplitTermsConfig config;
  const SplitBinding<Call> binding{
      .fixed = {.operands = {lines_of(places.query, attention.query_leading, attention.query_stride, attention.n),
                             lines_of(places.key, attention.key_leading, attention.key_stride, attention.n),
                             lines_of(places.value, attention.value_leading, attention.value_stride,
                                      attention.value_size),
                             lines_of(places.output_gradient, attention.output_leading, attention.output_stride,
                                      attention.value_size)}},
      .places = {places.query, places.key, places.value, places.output_gradient},
      .lines_of_block = config.threads / line_threads(t),
      .most_lines = std::max(places.query.count, places.key.count)};
  return Launch::of<Call, SplitTermsArgs>(
      {.family = "split_terms",
       .header = "attention/split_terms.h",
       .expression = codegen::name_expression("split_terms", "SplitTermsTraits", t, "SplitTermsConfig", config)},
      {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = 0}, binding);
}

}  // namespace

int terms_of(const SparseAttention& attention) {
  if (attention.element != Dtype::f32) return 0;
  return attention.math == Math::tf32 ? 1 : 2;
}

AttentionTerms TermsPlaces::at(void* workspace) const {
  if (query.part == 0) return {};
  return {.query = lines_at(query, workspace), .key = lines_at(key, workspace), .value = lines_at(value, workspace)};
}

TermLines TermsPlaces::output_gradient_at(void* workspace) const {
  return output_gradient.part == 0 ? TermLines{} : lines_at(output_gradient, workspace);
}

TermsPlaces terms_places(const AttentionQuery& query, int value_part) {
  TermsPlaces places;
  if (terms_of(query.attention()) > 0) take_operands(places, query.attention(), query.statistics, value_part);
  return places;
}

TermsPlaces terms_places(const AttentionBackwardQuery& query, std::int64_t first) {
  const SparseAttention& attention = query.attention();
  TermsPlaces places;
  places.bytes = first;
  const int terms = terms_of(attention);
  if (terms == 0) return places;
  const int value_part = rounded_head_size(attention.value_size);
  places.bytes = round_up(first, alignment_bytes);
  take_operands(places, attention, query.statistics, value_part);
  places.output_gradient = take_place(places.bytes, terms, attention.batch, query.statistics.rows, value_part);
  return places;
}

Launch split_terms_launch(const AttentionQuery& query, const TermsPlaces& places) {
  return split_launch<AttentionArguments>(query.attention(), places);
}
Launch split_terms_launch(const AttentionBackwardQuery& query, const TermsPlaces& places) {
  return split_launch<AttentionBackwardArguments>(query.attention(), places);
}

}  // namespace vostok::ops::fused_attention
