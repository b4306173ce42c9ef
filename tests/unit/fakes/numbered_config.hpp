// A config of no kernel: tests tell candidates apart by its number.
#pragma once

#include <abi/fields.h>

#include "ops/config.hpp"

namespace vostok::test {

struct NumberedConfig {
  int tile = 0;
  int id = 0;
};

template <FieldsOf<NumberedConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile", config.tile);
  visit("id", config.id);
}

inline ops::Config numbered(int id, int tile = 0) { return ops::Config::of(NumberedConfig{.tile = tile, .id = id}); }
inline int number_of(const ops::Config& config) { return config.as<NumberedConfig>().id; }

}  // namespace vostok::test
