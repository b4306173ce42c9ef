// The checks of `execute` on its pointers. What does not change from call to call is computed when a plan is made.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <vostok/enums.hpp>

#include "plan/memory_region.hpp"

namespace vostok::plan {

/// A workspace starts at a multiple of this, and is a multiple of it long.
inline constexpr std::int64_t workspace_alignment_bytes = 256;

/// Whether a problem uses an argument: it must be given, may be null, or must be null because the problem does not use
/// it.
enum class Wanted : unsigned char { needed, may_be_null, unasked };

/// The alignment that a pointer must have.
struct Alignment {
  constexpr Alignment(int all)
      : bytes(all), least(all) {}  // NOLINT(google-explicit-constructor): one that no problem declares
  constexpr Alignment(int all, int element) : bytes(all), least(element) {}

  int bytes;
  int least;  ///< the smallest that a problem may declare instead
};

/// An argument of `execute` that is a pointer.
struct Operand {
  const char* name;
  Wanted wanted;
  Alignment alignment_bytes;
  Region region;                   ///< the bytes read or written
  bool written = false;            ///< a written operand shares no byte with any other, nor with the workspace,
  int in_place_of = -1;            ///< except with this operand (its index), if both are the same pointer
  const char* asked_by = nullptr;  ///< the problem's field that makes it needed
  std::int64_t bytes = region.bytes();
};

/// An array whose alignment the problem declares: at least its elements'.
inline Alignment declared(int alignment_bytes, Dtype type) {
  return {std::max(alignment_bytes, size_of(type)), size_of(type)};
}

inline Wanted needed_if(bool needed) { return needed ? Wanted::needed : Wanted::may_be_null; }
inline Wanted needed_if_asked(bool asked) { return asked ? Wanted::needed : Wanted::unasked; }

/// The index of the operand that an output may alias, if both have the same layout; else -1.
inline int in_place_if(bool alike, int operand) { return alike ? operand : -1; }

/// A factor in device memory.
inline Operand device_scale_operand(Scale scale, const char* asked_by) {
  return {.name = "device_scale",
          .wanted = needed_if_asked(scale == Scale::device),
          .alignment_bytes = size_of(Dtype::f32),
          .region = array_region(1, Dtype::f32),
          .asked_by = asked_by};
}

[[noreturn]] void fail_missing(const char* object, const char* operand);
[[noreturn]] void fail_unasked(const char* object, const Operand& operand);
/// Fails, naming the alignment to declare.
[[noreturn]] void fail_misaligned(const char* object, const Operand& operand, const void* pointer);
/// The workspace is missing or not aligned to 256 bytes.
[[noreturn]] void fail_workspace(const char* object, const void* workspace, std::int64_t bytes);
[[noreturn]] void fail_unasked_scale(const char* object, float scale);

using Operands = std::span<const Operand>;
using Pointers = std::span<const void* const>;

/// The workspace of a call.
struct WorkspaceOfCall {
  const void* data = nullptr;
  std::int64_t bytes = 0;
};

/// Refuses arguments that are given but that the problem does not use.
inline void require_asked(const char* object, Operands operands, Pointers pointers) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].wanted == Wanted::unasked && pointers[i] != nullptr) fail_unasked(object, operands[i]);
}

/// A factor that is passed by value.
inline void require_asked_scale(const char* object, Scale scale, float passed) {
  if (scale != Scale::host && passed != 1.0F) fail_unasked_scale(object, passed);
}

/// Checks for null, alignment, and arguments that the problem does not use.
inline void require_pointers(const char* object, Operands operands, Pointers pointers) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (pointers[i] == nullptr) {
      if (operand.wanted == Wanted::needed) fail_missing(object, operand.name);
      continue;
    }
    if (operand.wanted == Wanted::unasked) fail_unasked(object, operand);
    if ((reinterpret_cast<std::uintptr_t>(pointers[i]) &
         (static_cast<std::uintptr_t>(operand.alignment_bytes.bytes) - 1)) != 0)
      fail_misaligned(object, operand, pointers[i]);
  }
}

inline void require_workspace(const char* object, const WorkspaceOfCall& workspace) {
  if (workspace.bytes > 0 &&
      (workspace.data == nullptr || reinterpret_cast<std::uintptr_t>(workspace.data) % workspace_alignment_bytes != 0))
    fail_workspace(object, workspace.data, workspace.bytes);
}

/// The addresses that an operand spans; empty if it is not given.
struct AddressRange {
  std::uintptr_t begin;
  std::uintptr_t end;

  AddressRange(const void* pointer, std::int64_t bytes)
      : begin(reinterpret_cast<std::uintptr_t>(pointer)),
        end(pointer != nullptr ? begin + static_cast<std::uintptr_t>(bytes) : begin) {}
  bool meets(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};

/// Conservative test whether written memory overlaps anything else, by a few comparisons: interleaved lines may still
/// be apart.
inline bool may_overlap(Operands operands, Pointers pointers, const WorkspaceOfCall& workspace) {
  const AddressRange scratch(workspace.data, workspace.bytes);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const AddressRange range(pointers[i], operands[i].bytes);
    if (range.meets(scratch)) return true;
    if (!operands[i].written) continue;
    for (std::size_t j = 0; j < operands.size(); ++j) {
      if (j == i || (static_cast<int>(j) == operands[i].in_place_of && pointers[j] == pointers[i])) continue;
      if (range.meets({pointers[j], operands[j].bytes})) return true;
    }
  }
  return false;
}

/// Throws invalid_argument if written memory shares bytes with anything else, naming both.
void require_apart(const char* object, Operands operands, Pointers pointers, const WorkspaceOfCall& workspace);

}  // namespace vostok::plan
