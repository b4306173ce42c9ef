#include "plan/operation.hpp"

namespace vostok::plan {

void fail_missing(const char* object, const char* operand) { fail(ErrorCode::invalid_argument, "cannot execute {}: .{} is null", object, operand); }

void fail_misaligned(const char* object, const Operand& operand) {
  const auto address = reinterpret_cast<std::uintptr_t>(operand.pointer);
  const std::uintptr_t actual = address & (~address + 1);
  fail(ErrorCode::misaligned_pointer,
       "cannot execute {}: .{} = {} is aligned to {} bytes, and must be to {}; where alignment_bytes says so, declare {}", object, operand.name,
       operand.pointer, actual, operand.alignment_bytes, actual);
}

void apply_options(ops::Query& query, const PlanOptions& options) {
  const std::string& family = options.family;
  query.policy = options.policy;
  if (family.empty()) return;
  if (ops::find_family(query.operation, family) == nullptr) {
    std::string names;
    for (const auto& known : ops::families(query.operation)) names += fmt::format("{}{}", names.empty() ? "" : ", ", known->name());
    fail(ErrorCode::invalid_argument, "cannot plan {}: PlanOptions::family = \"{}\" is none of its families: {}", query.operation, family, names);
  }
  const std::string key = fmt::format(" family={}", family);
  query.only_family = family;
  query.exact += key;
  query.identity += key;
}

void require_same_shape(const char* object, const Topology& old, const Topology& topology) {
  if (topology.rows() != old.rows() || topology.cols() != old.cols())
    fail(ErrorCode::invalid_argument, "cannot rebind {}: the plan is for {}x{}, and the topology is {}x{}", object, old.rows(), old.cols(),
         topology.rows(), topology.cols());
}

void fail_workspace(const char* object, const void* workspace, std::int64_t bytes) {
  if (workspace == nullptr)
    fail(ErrorCode::invalid_argument, "cannot execute {}: .workspace is null, and the plan needs workspace_bytes() = {}", object, bytes);
  fail(ErrorCode::misaligned_pointer, "cannot execute {}: .workspace = {} is not aligned to {} bytes", object, workspace, workspace_alignment_bytes);
}

}  // namespace vostok::plan
