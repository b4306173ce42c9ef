// The one text form of {field: value} maps: "dense_vector=4 tile_rows=8", sorted by field.
#pragma once

#include <optional>
#include <string_view>

#include <vostok/plan.hpp>

namespace vostok {

/// What `to_text` wrote. Nothing where a field is unnamed, named twice, lacks its '=', or an escape is cut short.
std::optional<FieldMap> parse_field_map(std::string_view text);

}  // namespace vostok
