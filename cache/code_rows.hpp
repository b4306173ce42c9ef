// Rows of code.db as images: the only SQL over that file besides the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/database.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

/// A stored kernel. `is_intact`: the digest matches the content.
struct CodeRow {
  plan::CodeEntry entry;
  device::Image image;
  std::int64_t last_use = 0;  ///< Unix seconds
  std::string digest = {};    ///< of everything except last_use, as stored
  bool is_intact = false;
};

std::vector<std::string> code_keys(Connection& connection);  ///< sorted
std::optional<CodeRow> code_row(Connection& connection, const std::string& key);

/// Adds or replaces, then evicts the longest unused rows until the pages in use fit in `max_bytes`. An image that would
/// fill more than half of that alone is not stored.
void store_code(Connection& connection, const plan::CodeEntry& entry, const device::Image& image, std::int64_t now,
                std::int64_t max_bytes);

/// Evicts the longest unused rows until the pages in use fit in `max_bytes`.
void shrink_code(Connection& connection, std::int64_t max_bytes);

void remove_code(Connection& connection, const std::string& key);
void touch_code(Connection& connection, const std::string& key, std::int64_t now);

}  // namespace vostok::cache
