// What the two files contain. The shape is final: features that come later (merge, rank, errata) find their columns here.
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

/// The content of a file whose first bytes these are. Nothing where it is no cache file.
std::optional<Content> content_of(std::string_view first_bytes);

/// The content of an open file, by its application id. Nothing where it is no cache file.
std::optional<Content> content_of(Connection& connection);

/// Makes the schema in an empty file; all openers of one cold file agree. Refuses (DatabaseError naming the file) a newer
/// schema and a file that is something else: other tables than these, or with other columns, a view, a trigger, an index of
/// someone else's. Only an index may be missing. What is let through is read without longer values than the library writes.
void make_schema(Connection& connection, Content content);

/// As make_schema, for files that are only read: an empty one is refused too.
void check_schema(Connection& connection, Content content);

/// The content of a file that a command was given, checked. Errors: DatabaseError naming the file.
Content require_cache_file(Connection& connection);

/// What SQLite finds wrong with the file's pages and rows, the first few, one sentence each. Reads all of it.
std::vector<std::string> page_faults(Connection& connection, int most);

/// How many rows a table has: reads all of it.
std::int64_t row_count(Connection& connection, const char* table);

}  // namespace vostok::cache
