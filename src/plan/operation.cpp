#include "plan/operation.hpp"

namespace vostok::plan {

void apply_options(ops::Query& query, const PlanOptions& options) {
  const std::string& family = options.family;
  query.policy = options.policy;
  if (family.empty()) return;
  if (ops::find_family(query.operation, family) == nullptr) {
    std::string names;
    for (const auto& known : ops::families(query.operation))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known->name());
    fail(ErrorCode::invalid_argument, "cannot plan {}: PlanOptions::family = \"{}\" is none of its families: {}",
         query.operation, family, names);
  }
  query.only_family = family;
  query.add_to_keys(fmt::format(" family={}", family));
}

void require_same_shape(const char* object, const Topology& old, const Topology& topology) {
  if (topology.rows() != old.rows() || topology.cols() != old.cols())
    fail(ErrorCode::invalid_argument, "cannot rebind {}: the plan is for {}x{}, and the topology is {}x{}", object,
         old.rows(), old.cols(), topology.rows(), topology.cols());
}

}  // namespace vostok::plan
