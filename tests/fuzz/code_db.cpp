// A code.db that somebody else made: it is refused, or its kernels are read.
#include "cache/code_rows.hpp"
#include "cache/schema.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  takes([&] {
    cache::Connection connection(std::string(bytes), "code.db");
    cache::check_schema(connection, cache::Content::code);
    for (const std::string& key : cache::code_keys(connection)) cache::code_row(connection, key);
  });
}
