// A tuning.db that somebody else made: it is refused, or its rows are rows, whatever its pages hold.
#include "cache/dump.hpp"
#include "cache/schema.hpp"
#include "cache/tuning_content.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  cache::TuningContent content;
  takes([&] {
    cache::Connection connection(std::string(bytes), "tuning.db");
    cache::check_schema(connection, cache::Content::tuning);
    cache::dump(connection);
    content = cache::all_rows(connection);
  });
  const std::string text = cache::content_text(content);
  require(cache::content_text(cache::parse_content(text)) == text,
          "rows that were read are dumped and loaded as they are");
}
