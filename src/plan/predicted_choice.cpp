#include "plan/predicted_choice.hpp"

#include <string_view>

#include "base/field_map.hpp"
#include "base/text.hpp"
#include "ops/conv/problem.hpp"
#include "ops/problem_text.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/candidates.hpp"

namespace vostok::plan {

namespace {

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

template <class QueryType>
std::shared_ptr<ops::Query> read(std::string_view operation, const ProblemKey& key, const FieldMap& fields, const device::Device& device) {
  const auto query = std::make_shared<QueryType>();
  try {
    for (const auto& [field, value] : fields) ops::set_field(query->problem, fmt::format("{}={}", field, value));
  } catch (const Error&) {
    return nullptr;  // of another version
  }
  const Features& features = key.features;
  if constexpr (requires { query->problem.n; }) query->problem.n = features.n;
  if constexpr (requires { query->problem.index; }) {
    const auto index = codegen::parse_value<IndexType>(features.index);
    if (!index) return nullptr;
    query->index = query->problem.index = *index;
  }
  query->operation = operation;
  query->exact = key.exact;
  query->statistics = statistics_of(features);
  query->n = {.least = features.n, .most = features.n};
  query->device = &device;
  return query;
}

using Read = std::shared_ptr<ops::Query> (*)(std::string_view, const ProblemKey&, const FieldMap&, const device::Device&);

Read reader_of(std::string_view operation) {
  if (operation == "spmm") return &read<ops::SpmmQuery>;
  if (operation == "sddmm") return &read<ops::SddmmQuery>;
  if (operation == "softmax") return &read<ops::SoftmaxQuery>;
  if (operation == "softmax_backward") return &read<ops::SoftmaxBackwardQuery>;
  if (operation == "depthwise") return &read<ops::DepthwiseQuery>;
  if (operation == "bias_activation") return &read<ops::BiasActivationQuery>;
  if (operation == "im2col") return &read<ops::Im2colQuery>;
  return nullptr;
}

}  // namespace

std::shared_ptr<ops::Query> query_of(const ProblemKey& key, const device::Device& device) {
  auto fields = parse_field_map(key.exact);
  if (!fields) return nullptr;
  // What a plan adds to its problem's fields where it restricts its choices.
  const auto take = [&](const char* name) -> std::optional<std::string> {
    const auto node = fields->extract(name);
    return node ? std::optional(node.mapped()) : std::nullopt;
  };
  const auto family = take("family");
  const auto format = take("packed_format");
  // A stride that follows the structure is in the key by what it is a multiple of: a packed one is the default.
  std::erase_if(*fields, [](const auto& field) { return field.second == "packed"; });
  for (const std::string_view operation : ops::operations()) {
    if (operation != key.operation || reader_of(operation) == nullptr) continue;
    auto query = reader_of(operation)(operation, key, *fields, device);
    if (!query) return nullptr;
    query->only_family = family.value_or("");
    query->packed_format = format;
    return query;
  }
  return nullptr;
}

std::optional<std::pair<std::string, FieldMap>> predicted_choice(const ProblemKey& key, const device::Device& device) {
  const auto query = query_of(key, device);
  if (!query) return std::nullopt;
  std::string reasons;
  const auto choice = cheapest(*query, Options().max_workspace_bytes, reasons);
  if (!choice) return std::nullopt;
  return std::pair{std::string(choice->family->name()), choice->config};
}

}  // namespace vostok::plan
