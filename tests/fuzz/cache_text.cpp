// Dumps of a tuning.db: the text of rows that were read is a fixed point.
#include "cache/tuning_content.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  cache::TuningContent content;
  if (!takes([&] { content = cache::parse_content(bytes); })) return;
  const std::string text = cache::content_text(content);
  require(cache::content_text(cache::parse_content(text)) == text,
          "a dump of what was loaded is loaded and dumped again as it was");
}
