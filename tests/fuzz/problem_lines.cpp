// Problem files: what `vostok tune` and `vostok pack` work through, and the words of their lines.
#include "base/words.hpp"
#include "cli/problem_file.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  takes([&] {
    for (const cli::ProblemLine& line : cli::parse_problems(bytes, "input.txt"))
      require(line.job != nullptr, "a line that was read has a job");
  });
  const std::string word = quoted_word(bytes);
  require(word.find('\n') == std::string::npos, "a quoted word is one line");
  require(split_words(word) == std::vector<std::string>{std::string(bytes)}, "a quoted word is split to what it was");
}
