// The techniques of a kernel family, each with a way to switch it off: the rows of the ablation's table.
#pragma once

#include <optional>
#include <span>

#include <vostok/plan.hpp>

namespace vostok::bench {

struct Technique {
  const char* name;
  const char* fields;  ///< of the config, for readers
  /// The config without the technique; nothing if the config does not use it. Errors: invalid_argument (not
  /// a config of the family).
  std::optional<FieldMap> (*without)(const FieldMap& config);
};

/// A family with its list of techniques.
struct TechniquesOf {
  const char* operation;
  const char* family;  ///< empty: of each problem the one that its plan chose
  std::span<const Technique> techniques;
};

TechniquesOf row_tile_techniques();    ///< of SpMM
TechniquesOf row_strips_techniques();  ///< of SDDMM
/// Certificates of sums, which a problem of `nonfinite = dense` does without: the config is the same.
TechniquesOf certified_sums(const char* operation);

}  // namespace vostok::bench
