#include "plan/predicted_choice.hpp"

#include <string_view>

#include "base/text.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/problem_text.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/candidates.hpp"
#include "plan/task_text.hpp"

namespace vostok::plan {

namespace {

template <class QueryType>
std::shared_ptr<ops::Query> read(std::string_view operation, const ProblemKey& key, const TaskText& text,
                                 const device::Device& device) {
  const auto query = std::make_shared<QueryType>();
  try {
    for (const auto& [field, value] : text.problem) ops::set_field(query->problem, fmt::format("{}={}", field, value));
  } catch (const Error&) {
    return nullptr;  // the key is of another version
  }
  const Features& features = key.features;
  if (IndexType* const field = ops::index_field(query->problem)) {
    const auto index = codegen::parse_value<IndexType>(features.index);
    if (!index) return nullptr;
    query->index = *field = *index;
  }
  query->operation = operation;
  query->exact = key.exact;
  query->statistics = text.statistics.value_or(TopologyStatistics{});
  query->n = text.n;
  query->device = &device;
  return query;
}

using Read = std::shared_ptr<ops::Query> (*)(std::string_view, const ProblemKey&, const TaskText&,
                                             const device::Device&);

Read reader_of(std::string_view operation) {
  if (operation == "spmm") return &read<ops::SpmmQuery>;
  if (operation == "sddmm") return &read<ops::SddmmQuery>;
  if (operation == "softmax") return &read<ops::SoftmaxQuery>;
  if (operation == "softmax_backward") return &read<ops::SoftmaxBackwardQuery>;
  if (operation == "attention") return &read<ops::AttentionQuery>;
  if (operation == "attention_backward") return &read<ops::AttentionBackwardQuery>;
  if (operation == "depthwise") return &read<ops::DepthwiseQuery>;
  if (operation == "bias_activation") return &read<ops::BiasActivationQuery>;
  if (operation == "im2col") return &read<ops::Im2colQuery>;
  return nullptr;
}

}  // namespace

std::shared_ptr<ops::Query> query_of(const ProblemKey& key, const device::Device& device) {
  const auto text = text_of(key);
  if (!text) return nullptr;
  for (const std::string_view operation : ops::operations()) {
    if (operation != key.operation || reader_of(operation) == nullptr) continue;
    auto query = reader_of(operation)(operation, key, *text, device);
    if (!query) return nullptr;
    query->policy = text->policy;
    query->only_family = text->family;
    query->packed_format = text->packed_format;
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
  return std::pair{std::string(choice->family->name()), choice->config.to_map()};
}

}  // namespace vostok::plan
