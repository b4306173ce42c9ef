#include "unit/cli/interrupted_tool.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>  // NOLINT: kill
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "sparse/text_file.hpp"

namespace vostok::cli::testing {

Outcome interrupted_at(const Tool& tool, const std::vector<std::string>& arguments, const std::string& part) {
  std::vector<std::string> words = {VOSTOK_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::filesystem::path output = tool.folder() / "interrupted";
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) ::_exit(126);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::setenv("VOSTOK_CACHE_DIR", (tool.folder() / "cache").c_str(), 1);
    ::execv(VOSTOK_TOOL, pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Outcome outcome;
  char buffer[256];
  bool sent = false;
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    outcome.errors.append(buffer, static_cast<std::size_t>(count));
    if (!sent && contains(outcome.errors, part)) sent = ::kill(child, SIGINT) == 0;
  }
  ::close(ends[0]);
  int state = 0;
  ::waitpid(child, &state, 0);
  outcome.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  outcome.output = sparse::read_bytes(output);
  return outcome;
}

}  // namespace vostok::cli::testing
