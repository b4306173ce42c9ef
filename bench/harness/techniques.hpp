// The techniques of row_tile, each with the way to switch it off: the rows of the ablation's table.
#pragma once

#include <optional>
#include <span>

#include <vostok/plan.hpp>

#include "abi/row_tile.h"

namespace vostok::bench {

struct Technique {
  const char* name;
  const char* fields;  ///< of the config, for readers
  void (*switch_off)(RowTileConfig& config);
};

std::span<const Technique> row_tile_techniques();

/// The config without the technique; nothing where it does not use it. Errors: invalid_argument (not a config of row_tile).
std::optional<FieldMap> without(const Technique& technique, const FieldMap& config);

}  // namespace vostok::bench
