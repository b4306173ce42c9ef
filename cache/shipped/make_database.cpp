// make_database OUT TEXT...: the tuning.db that is shipped, from dumps of tuned rows. A tool of the build.
#include <cstdio>
#include <exception>

#include "cache/merge.hpp"
#include "cache/tuning_content.hpp"

namespace {

void make(int count, const char* const* texts, const char* out) {
  vostok::cache::TuningContent content;
  for (int i = 0; i < count; ++i) content = vostok::cache::merged(content, vostok::cache::read_content(texts[i]));
  vostok::cache::write_content(std::move(content), out);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) {
      std::fprintf(stderr, "usage: make_database OUT TEXT...\n");
      return 2;
    }
    make(argc - 2, argv + 2, argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_database: %s\n", error.what());
    return 1;
  }
}
