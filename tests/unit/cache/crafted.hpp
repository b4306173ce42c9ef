// Cache files as someone else may have made them: by SQLite without any of the library's limits, or byte by byte.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "unit/cache/fixture.hpp"

namespace vostok::cache::testing {

/// Runs SQL on a file with everything that SQLite allows. `PRAGMA writable_schema` is on: the schema's text can be
/// anything.
inline void craft(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open(file.c_str(), &opened);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, &sqlite3_close);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  if (result != SQLITE_OK ||
      sqlite3_exec(opened, ("PRAGMA writable_schema = ON; " + sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(opened));
}

/// The SQL that makes a table as the file has it, with a part of it replaced, and all rows kept.
inline std::string remade(const std::string& table, const std::string& part, const std::string& by) {
  return "UPDATE sqlite_master SET sql = replace(sql, '" + part + "', '" + by + "') WHERE name = '" + table + "'";
}

/// A file's bytes as pages.
class Pages {
 public:
  explicit Pages(std::string bytes) : bytes_(std::move(bytes)) {
    page_bytes_ = number(16, 2) == 1 ? 65536 : number(16, 2);
  }
  std::size_t count() const { return bytes_.size() / page_bytes_; }
  std::size_t page_bytes() const { return page_bytes_; }
  std::string page(std::size_t which) const { return bytes_.substr((which - 1) * page_bytes_, page_bytes_); }
  void replace(std::size_t which, const std::string& page) {
    bytes_.replace((which - 1) * page_bytes_, page_bytes_, page);
  }
  std::size_t append(const std::string& page) {
    bytes_ += page;
    for (int i = 0; i < 4; ++i) bytes_[28 + static_cast<std::size_t>(i)] = static_cast<char>(count() >> (24 - 8 * i));
    return count();
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::size_t number(std::size_t at, std::size_t size) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8U | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }
  std::string bytes_;
  std::size_t page_bytes_ = 0;
};

inline std::string big_endian(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A page of a tree's inside, all of whose children are one and the same page. `row` stands between them: a whole cell
/// of a leaf where rows lie in the inside too (an index, a table without row numbers), else a row's number.
inline std::string page_over(std::size_t child, bool is_index, const std::string& row, std::size_t page_bytes) {
  const std::string cell = big_endian(child, 4) + row;
  const std::size_t room = page_bytes - 12;
  const std::size_t cells = std::min<std::size_t>(room / (cell.size() + 2), 300);
  std::string page = std::string(1, is_index ? '\x02' : '\x05') + std::string(2, '\0') + big_endian(cells, 2) +
                     big_endian(page_bytes - cells * cell.size(), 2) + std::string(1, '\0') + big_endian(child, 4);
  for (std::size_t i = 0; i < cells; ++i) page += big_endian(page_bytes - (i + 1) * cell.size(), 2);
  page.resize(page_bytes - cells * cell.size());
  for (std::size_t i = 0; i < cells; ++i) page += cell;
  return page;
}

/// Makes a table (or an index) of a few rows endless, in a file that stays small: its pages stand under each other so
/// often that no scan of them returns in this world's time.
inline void make_endless(const std::filesystem::path& file, const std::string& name) {
  Connection connection(file, Access::read_only, 1000);
  const auto root =
      static_cast<std::size_t>(connection.number("SELECT rootpage FROM sqlite_master WHERE name = ?", name));
  Pages pages(contents(file));
  const std::string leaf = pages.page(root);
  const bool is_index = leaf.at(0) == '\x0a';
  if (!is_index && leaf.at(0) != '\x0d') throw std::runtime_error("the root of " + name + " is no leaf");
  std::string row = "\x01";
  if (is_index) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(leaf.at(at))); };
    const std::size_t at = byte(8) << 8U | byte(9);  // its first cell: how long what follows is, in one byte or two
    const std::size_t size = byte(at) < 128 ? byte(at) + 1 : ((byte(at) & 127U) << 7U | byte(at + 1)) + 2;
    row = leaf.substr(at, size);
  }
  std::size_t child = pages.append(leaf);
  constexpr int levels = 12;
  for (int level = 0; level < levels; ++level)
    child = pages.append(page_over(child, is_index, row, pages.page_bytes()));
  pages.replace(root, page_over(child, is_index, row, pages.page_bytes()));
  write_file(file, pages.bytes());
}

}  // namespace vostok::cache::testing
