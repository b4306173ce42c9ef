// Problem files: what `vostok tune` and `vostok pack` work through.
#include "cli/problem_file.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile file(bytes);
  takes([&] {
    for (const cli::ProblemLine& line : cli::read_problem_file(file.path())) require(line.job != nullptr, "a line that was read has a job");
  });
}
