#include "plan/task_text.hpp"

#include <array>
#include <utility>

#include "base/field_map.hpp"
#include "base/text.hpp"

namespace vostok::plan {

namespace {

struct Rebuilder {
  std::string_view operation;
  Task (*rebuild)(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);
};

/// One for each that ops::operations() lists.
constexpr std::array rebuilders = {
    Rebuilder{"spmm", &rebuild<Spmm>},
    Rebuilder{"sddmm", &rebuild<Sddmm>},
    Rebuilder{"softmax", &rebuild<Softmax>},
    Rebuilder{"softmax_backward", &rebuild<SoftmaxBackward>},
    Rebuilder{"depthwise", &rebuild<DepthwiseConvolution>},
    Rebuilder{"bias_activation", &rebuild<BiasActivation>},
    Rebuilder{"im2col", &rebuild<Im2col>},
};

}  // namespace

TaskText text_of(const ops::Query& query) {
  auto fields = parse_field_map(query.identity);
  if (!fields) fail(ErrorCode::internal, "cannot read a problem back: \"{}\"", query.identity);
  // What narrows the choice of candidates is not the problem's.
  fields->erase("family");
  fields->erase("packed_format");
  return {.operation = std::string(query.operation), .problem = *std::move(fields), .n = query.n, .policy = query.policy};
}

Task rebuilt_task(const Planner& planner, const TaskText& text, const Topology& topology, std::uint64_t seed) {
  for (const Rebuilder& rebuilder : rebuilders)
    if (rebuilder.operation == text.operation) return rebuilder.rebuild(planner, rebuilder.operation, text, topology, seed);
  fail(ErrorCode::invalid_argument, "cannot tune {}: this version has no such operation", text.operation);
}

}  // namespace vostok::plan
