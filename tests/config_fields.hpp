// A config's fields by name, as stored choices have them.
#pragma once

#include <string>

#include "ops/family.hpp"

namespace vostok::test {

inline std::string field(const ops::Config& config, const std::string& name) { return config.to_map().at(name); }

/// The config with other fields. Throws where the family does not understand a value.
inline ops::Config with_fields(const ops::Family& family, const ops::Config& config, const FieldMap& changed) {
  FieldMap fields = config.to_map();
  for (const auto& [name, value] : changed) fields[name] = value;
  return family.read(fields).value();
}

}  // namespace vostok::test
