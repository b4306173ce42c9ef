#include "cache/code_rows.hpp"

#include <vector>

#include "base/digest.hpp"

namespace vostok::cache {

namespace {

/// One line each; a backslash escapes itself and line ends within a message.
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    for (const char byte : line) {
      if (byte == '\\') text += "\\\\";
      else if (byte == '\n') text += "\\n";
      else text += byte;
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.push_back(std::move(line));
      line.clear();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      line += text[++i] == 'n' ? '\n' : text[i];
    } else {
      line += text[i];
    }
  }
  return lines;
}

std::string content_digest(const plan::CodeEntry& entry, const device::Image& image) {
  return Digest()
      .add(entry.key)
      .add(entry.family)
      .add(entry.expression)
      .add(entry.architecture)
      .add(entry.compiler)
      .add(image.symbol)
      .add(std::int64_t{image.registers})
      .add(image.spill_bytes)
      .add(image.stack_bytes)
      .add(image.static_shared_bytes)
      .add(joined(image.warnings))
      .add(image.binary)
      .hex();
}

std::int64_t bytes_in_use(Connection& connection) {
  return (connection.number("PRAGMA page_count") - connection.number("PRAGMA freelist_count")) *
         connection.number("PRAGMA page_size");
}

/// Removes the longest unused rows except `keep`, at_a_time at once, until the rest fits.
void remove_unused(Connection& connection, const std::string& keep, std::int64_t bytes, int at_a_time) {
  while (bytes_in_use(connection) > bytes) {
    connection.run("DELETE FROM code WHERE key IN (SELECT key FROM code WHERE key <> ? ORDER BY last_use, key LIMIT ?)",
                   keep, at_a_time);
    if (connection.changed_rows() == 0) break;
  }
  connection.run("PRAGMA incremental_vacuum");
}

void evict(Connection& connection, const std::string& keep, std::int64_t max_bytes) {
  if (bytes_in_use(connection) <= max_bytes) return;
  const std::int64_t enough =
      max_bytes - max_bytes / 8;  // leaves room for further kernels, so that not every store evicts
  remove_unused(connection, keep, enough, 8);
}

}  // namespace

std::vector<std::string> code_keys(Connection& connection) {
  std::vector<std::string> keys;
  Statement row = connection.query("SELECT key FROM code ORDER BY key");
  while (row.step()) keys.push_back(row.text(0));
  return keys;
}

std::optional<CodeRow> code_row(Connection& connection, const std::string& key) {
  Statement row = connection.query(
      "SELECT family, expression, architecture, compiler, symbol, registers, spill_bytes, stack_bytes, shared_bytes, "
      "warnings, digest, last_use, "
      "binary"
      " FROM code WHERE key = ?",
      key);
  if (!row.step()) return std::nullopt;
  CodeRow found{.entry = {.key = key,
                          .family = row.text(0),
                          .expression = row.text(1),
                          .architecture = row.text(2),
                          .compiler = row.text(3)},
                .image = {.binary = row.text(12),
                          .symbol = row.text(4),
                          .registers = static_cast<int>(row.integer(5)),
                          .spill_bytes = row.integer(6),
                          .stack_bytes = row.integer(7),
                          .static_shared_bytes = row.integer(8),
                          .warnings = split(row.text(9))},
                .last_use = row.integer(11),
                .digest = row.text(10)};
  found.is_intact = content_digest(found.entry, found.image) == found.digest;
  return found;
}

void store_code(Connection& connection, const plan::CodeEntry& entry, const device::Image& image, std::int64_t now,
                std::int64_t max_bytes) {
  const auto size = static_cast<std::int64_t>(image.binary.size());
  if (size > max_bytes / 2) return;
  connection.run(
      "INSERT OR REPLACE INTO code(key, family, expression, architecture, compiler, symbol, registers, spill_bytes, "
      "stack_bytes, shared_bytes,"
      " warnings, digest, size, last_use, binary) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      entry.key, entry.family, entry.expression, entry.architecture, entry.compiler, image.symbol, image.registers,
      image.spill_bytes, image.stack_bytes, image.static_shared_bytes, joined(image.warnings),
      content_digest(entry, image), size, now, Blob{image.binary});
  evict(connection, entry.key, max_bytes);
}

void shrink_code(Connection& connection, std::int64_t max_bytes) { remove_unused(connection, "", max_bytes, 1); }

void remove_code(Connection& connection, const std::string& key) {
  connection.run("DELETE FROM code WHERE key = ?", key);
}

void touch_code(Connection& connection, const std::string& key, std::int64_t now) {
  connection.run("UPDATE code SET last_use = ? WHERE key = ? AND last_use < ?", now, key, now);
}

}  // namespace vostok::cache
