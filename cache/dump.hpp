// tuning.db as text, for review and for packaging that gives the same file every time: what cache/shipped/ holds.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"

namespace vostok::cache {

/// Every row of a tuning.db, one line each:
///   vostok tuning 1
///   device architecture=sm_90 id=5f0c... name=NVIDIA%20H200 ...
///   winner config=dense_vector=4%20tile_rows=8 device=5f0c... ...
/// A line is the table and its fields in canonical form (base/field_map.hpp); NULL fields are omitted. `id` names a
/// device or a problem by its content. Lines are sorted within a table, so equal content gives equal bytes. Errors:
/// io_failure.
std::string dump(const std::filesystem::path& path);
std::string dump(Connection& connection);

/// Adds the rows of such a text to the tuning.db at `path`, creating it if needed. Rows of the same key are replaced,
/// except those of devices whose uuid is in `keep`: what was measured here stays. All or nothing. Errors:
/// invalid_argument naming the line, io_failure.
void load(std::string_view text, const std::filesystem::path& path, const std::vector<std::string>& keep = {});
void load(std::string_view text, Connection& connection, const std::vector<std::string>& keep = {});

}  // namespace vostok::cache
