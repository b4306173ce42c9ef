#include "plan/operands.hpp"

#include "base/text.hpp"

namespace vostok::plan {

void fail_missing(const char* object, const char* operand) {
  fail(ErrorCode::invalid_argument, "cannot execute {}: .{} is null", object, operand);
}

void fail_unasked(const char* object, const Operand& operand) {
  fail(ErrorCode::invalid_argument,
       "cannot execute {}: .{} is given, and the problem does not ask for it: set its field {}", object, operand.name,
       operand.asked_by);
}

void fail_unasked_scale(const char* object, float scale) {
  fail(ErrorCode::invalid_argument,
       "cannot execute {}: .scale = {} is given, and the problem does not ask for it: set its field scale = host",
       object, scale);
}

void fail_misaligned(const char* object, const Operand& operand, const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t actual = address & (~address + 1);
  const bool may_be_declared = actual >= static_cast<std::uintptr_t>(operand.alignment_bytes.least);
  fail(ErrorCode::misaligned_pointer, "cannot execute {}: .{} = {} is aligned to {} bytes, and must be to {}{}", object,
       operand.name, pointer, actual, operand.alignment_bytes.bytes,
       may_be_declared ? fmt::format("; or declare alignment_bytes = {}", actual) : "");
}

void fail_workspace(const char* object, const void* workspace, std::int64_t bytes) {
  if (workspace == nullptr)
    fail(ErrorCode::invalid_argument,
         "cannot execute {}: .workspace is null, and the plan needs workspace_bytes() = {}", object, bytes);
  fail(ErrorCode::misaligned_pointer, "cannot execute {}: .workspace = {} is not aligned to {} bytes", object,
       workspace, workspace_alignment_bytes);
}

namespace {

/// Bytes from one address to another.
std::int64_t distance(const void* from, const void* to) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from));
}

}  // namespace

void require_apart(const char* object, Operands operands, Pointers pointers, const WorkspaceOfCall& workspace) {
  const Region scratch = plain_region(workspace.data != nullptr ? workspace.bytes : 0);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (pointers[i] == nullptr) continue;
    if (share_bytes(operand.region, scratch, distance(pointers[i], workspace.data)))
      fail(ErrorCode::invalid_argument,
           "cannot execute {}: .workspace = {}, {} bytes of it, shares memory with .{} = {}", object, workspace.data,
           workspace.bytes, operand.name, pointers[i]);
    if (!operand.written) continue;
    for (std::size_t j = 0; j < operands.size(); ++j) {
      if (j == i || pointers[j] == nullptr ||
          (static_cast<int>(j) == operand.in_place_of && pointers[j] == pointers[i]))
        continue;
      if (share_bytes(operand.region, operands[j].region, distance(pointers[i], pointers[j])))
        fail(ErrorCode::invalid_argument, "cannot execute {}: .{} = {} is written and shares elements with .{} = {}",
             object, operand.name, pointers[i], operands[j].name, pointers[j]);
    }
  }
}

}  // namespace vostok::plan
