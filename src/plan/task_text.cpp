#include "plan/task_text.hpp"

#include <array>
#include <utility>

#include "base/field_map.hpp"
#include "base/text.hpp"
#include "ops/attention/problem.hpp"

namespace vostok::plan {

namespace {

struct Rebuilder {
  std::string_view operation;
  Task (*rebuild)(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);
};

/// One entry for each operation of ops::operations().
constexpr std::array rebuilders = {
    Rebuilder{"spmm", &rebuild<Spmm>},
    Rebuilder{"sddmm", &rebuild<Sddmm>},
    Rebuilder{"softmax", &rebuild<Softmax>},
    Rebuilder{"softmax_backward", &rebuild<SoftmaxBackward>},
    Rebuilder{"attention", &rebuild<FusedAttention>},
    Rebuilder{"attention_backward", &rebuild<FusedAttentionBackward>},
    Rebuilder{"depthwise", &rebuild<DepthwiseConvolution>},
    Rebuilder{"bias_activation", &rebuild<BiasActivation>},
    Rebuilder{"im2col", &rebuild<Im2col>},
};

TopologyStatistics statistics_of(const Features& features) {
  const auto rows = static_cast<double>(features.m);
  return {.rows = features.m,
          .cols = features.k,
          .nonzeros = features.nonzeros,
          .longest_row = features.longest_row,
          .mean_row = features.m > 0 ? static_cast<double>(features.nonzeros) / rows : 0,
          .row_variation = features.row_variation,
          .sorted = true};
}

}  // namespace

TaskText text_of(const ops::Query& query) {
  auto fields = parse_field_map(query.identity);
  if (!fields) fail(ErrorCode::internal, "cannot read a problem back: \"{}\"", query.identity);
  // These fields narrow the choice of candidates and are not part of the problem.
  fields->erase("family");
  fields->erase("packed_format");
  return {
      .operation = std::string(query.operation), .problem = *std::move(fields), .n = query.n, .policy = query.policy};
}

std::optional<TaskText> text_of(const ProblemKey& key) {
  auto fields = parse_field_map(key.exact);
  if (!fields) return std::nullopt;
  // Takes out the fields that a plan adds if it restricts its choices.
  const auto take = [&](const char* field) -> std::optional<std::string> {
    const auto node = fields->extract(field);
    return node ? std::optional(node.mapped()) : std::nullopt;
  };
  const auto family = take("family");
  const auto format = take("packed_format");
  // Keys have one text for all of its values (KeyRole::stored_as): the default is as good as any.
  fields->erase("nonfinite");
  // A stride that follows the structure is stored in the key by its divisibility: "packed" is the default.
  std::erase_if(*fields, [](const auto& field) { return field.second == "packed"; });
  const std::int64_t n = key.features.n;
  if (n > 0) fields->emplace("n", std::to_string(n));
  return TaskText{.operation = key.operation,
                  .problem = *std::move(fields),
                  .n = {.least = n, .most = n},
                  .policy = key.policy == name(Policy::cold) ? Policy::cold : Policy::warm,
                  .family = family.value_or(""),
                  .packed_format = format,
                  .statistics = statistics_of(key.features)};
}

Task rebuilt_task(const Planner& planner, const TaskText& text, const Topology& topology, std::uint64_t seed) {
  for (const Rebuilder& rebuilder : rebuilders)
    if (rebuilder.operation == text.operation)
      return rebuilder.rebuild(planner, rebuilder.operation, text, topology, seed);
  fail(ErrorCode::invalid_argument, "cannot tune {}: this version has no such operation", text.operation);
}

}  // namespace vostok::plan
