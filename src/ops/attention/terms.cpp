#include "ops/attention/terms.hpp"

#include <algorithm>
#include <array>

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

struct SplitBinding {
  SplitTermsArgs fixed;
  std::array<TermsPlace, 3> places;
  std::int64_t lines_of_block;
  std::int64_t most_lines;

  device::Dim3 operator()(const AttentionArguments& call, SplitTermsArgs& args) const {
    args = fixed;
    const std::array operands = {call.query, call.key, call.value};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      args.operands[i].lines = static_cast<const float*>(operands[i]);
      args.operands[i].to = lines_at(places[i], call.workspace);
    }
    if (most_lines == 0) return {0, 0, 0};
    return {static_cast<unsigned>(ceil_div(most_lines, lines_of_block)), 3, 1};
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

}  // namespace

int terms_of(const SparseAttention& attention) {
  if (attention.element != Dtype::f32) return 0;
  return attention.math == Math::tf32 ? 1 : 2;
}

AttentionTerms TermsPlaces::at(void* workspace) const {
  if (bytes == 0) return {};
  return {.query = lines_at(query, workspace), .key = lines_at(key, workspace), .value = lines_at(value, workspace)};
}

TermsPlaces terms_places(const AttentionQuery& query, int value_part) {
  const SparseAttention& attention = query.attention();
  const int terms = terms_of(attention);
  TermsPlaces places;
  if (terms == 0) return places;
  const auto place = [&](std::int64_t heads, std::int64_t rows, int part) {
    TermsPlace of{.rows = rows, .count = checked_multiply(heads, rows, what), .part = part};
    const auto take = [&](std::int64_t bytes_of_line) {
      const std::int64_t at = places.bytes;
      places.bytes += round_up(checked_multiply(of.count, bytes_of_line, what), alignment_bytes);
      return at;
    };
    of.terms_at = take(std::int64_t{2} * terms * part);
    of.exponents_at = take(sizeof(int));
    return of;
  };
  const int key_part = rounded_head_size(attention.n);
  places.query = place(attention.batch, query.statistics.rows, key_part);
  places.key = place(key_heads_of(attention), query.statistics.cols, key_part);
  places.value = place(key_heads_of(attention), query.statistics.cols, value_part);
  return places;
}

Launch split_terms_launch(const AttentionQuery& query, const TermsPlaces& places) {
  const SparseAttention& attention = query.attention();
  const SplitTermsTraits t{.terms = terms_of(attention), .longest = std::max(places.key.part, places.value.part)};
  const SplitTermsConfig config;
  const SplitBinding binding{
      .fixed = {.operands = {lines_of(places.query, attention.query_leading, attention.query_stride, attention.n),
                             lines_of(places.key, attention.key_leading, attention.key_stride, attention.n),
                             lines_of(places.value, attention.value_leading, attention.value_stride,
                                      attention.value_size)}},
      .places = {places.query, places.key, places.value},
      .lines_of_block = config.threads / line_threads(t),
      .most_lines = std::max(places.query.count, places.key.count)};
  return Launch::of<AttentionArguments, SplitTermsArgs>(
      {.family = "split_terms",
       .header = "attention/split_terms.h",
       .expression = codegen::name_expression("split_terms", "SplitTermsTraits", t, "SplitTermsConfig", config)},
      {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = 0}, binding);
}

}  // namespace vostok::ops::fused_attention
