// The schema of the two files. It is final: later features (merge, rank, errata) find their columns here.
#pragma once

#include <string>
#include <vector>

#include "cache/database.hpp"

namespace vostok::cache {

/// Which of the two files.
enum class Content {
  tuning,  ///< tuning.db: what was measured and chosen; small, shippable
  code     ///< code.db: compiled kernels; disposable
};

/// "tuning.db", "code.db".
const char* file_name(Content content);

/// The content of a file with these first bytes. Nothing if it is not a cache file.
std::optional<Content> content_of(std::string_view first_bytes);

/// The content of an open file, by its application id. Nothing if it is not a cache file.
std::optional<Content> content_of(Connection& connection);

/// Creates the schema in an empty file; concurrent openers agree. Refuses (DatabaseError naming the file) a newer
/// schema, and a file that is something else: other tables or columns, a view, a trigger, a foreign index. Only an
/// index may be missing. Afterwards values longer than the library writes count as damage.
void make_schema(Connection& connection, Content content);

/// As make_schema, for files that are only read; refuses an empty one.
void check_schema(Connection& connection, Content content);

/// Checks a file given to a command and returns its content. Errors: DatabaseError naming the file.
Content require_cache_file(Connection& connection);

/// The first few faults that SQLite finds in the file's pages and rows, one sentence each. Reads all of it.
std::vector<std::string> page_faults(Connection& connection, int most);

/// The number of rows of a table: reads all of it.
std::int64_t row_count(Connection& connection, const char* table);

}  // namespace vostok::cache
