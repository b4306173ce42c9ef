// A code.db that somebody else made: a kernel that counts as intact has the digest of what it holds.
#include "cache/code_rows.hpp"
#include "cache/schema.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile file(bytes);
  takes([&] {
    cache::Connection connection(file.path(), cache::Access::immutable, 0);
    cache::check_schema(connection, cache::Content::code);
    for (const std::string& key : cache::code_keys(connection)) cache::code_row(connection, key);
  });
}
