// The techniques of a family of kernels, each with the way to switch it off: the rows of the ablation's table.
#pragma once

#include <optional>
#include <span>

#include <vostok/plan.hpp>

namespace vostok::bench {

struct Technique {
  const char* name;
  const char* fields;  ///< of the config, for readers
  /// The config without it; nothing where the config does not use it. Errors: invalid_argument (no config of the family).
  std::optional<FieldMap> (*without)(const FieldMap& config);
};

/// A family whose techniques are listed.
struct TechniquesOf {
  const char* operation;
  const char* family;
  std::span<const Technique> techniques;
};

TechniquesOf row_tile_techniques();    ///< of SpMM
TechniquesOf row_strips_techniques();  ///< of SDDMM

}  // namespace vostok::bench
