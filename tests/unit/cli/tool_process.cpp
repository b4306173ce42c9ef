#include "unit/cli/tool_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "sparse/text_file.hpp"

namespace vostok::cli::testing {

namespace {

void redirect(const std::filesystem::path& file, int descriptor) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || ::dup2(opened, descriptor) < 0) ::_exit(126);
}

void set_all(const Variables& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace

Outcome Tool::run(const std::vector<std::string>& arguments, const Variables& variables) const {
  return start(arguments, [&] { set_all(variables); });
}

Outcome Tool::run_into(Stdout target, const std::vector<std::string>& arguments, const Variables& variables) const {
  return start(arguments, [&] {
    set_all(variables);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::signal(SIGPIPE, target == Stdout::pipe_no_signal ? SIG_IGN : SIG_DFL);
    if (target == Stdout::full_device) ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
    if (target == Stdout::closed) ::close(STDOUT_FILENO);
    int ends[2] = {-1, -1};
    if (target != Stdout::pipe_of_nobody && target != Stdout::pipe_no_signal) return;
    if (::pipe(ends) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(126);
    ::close(ends[0]);
    ::close(ends[1]);
  });
}

Outcome Tool::start(const std::vector<std::string>& arguments, const std::function<void()>& prepare) const {
  const std::filesystem::path output = folder_ / "stdout";
  const std::filesystem::path errors = folder_ / "stderr";
  std::vector<std::string> words = {VOSTOK_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    redirect(output, STDOUT_FILENO);
    redirect(errors, STDERR_FILENO);
    ::setenv("VOSTOK_CACHE_DIR", (folder_ / "cache").c_str(), 1);
    prepare();
    ::execv(VOSTOK_TOOL, pointers.data());
    ::_exit(127);
  }
  int state = 0;
  if (child < 0 || ::waitpid(child, &state, 0) != child) fail(ErrorCode::internal, "cannot run {}", VOSTOK_TOOL);
  return {.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state),
          .output = sparse::read_bytes(output),
          .errors = sparse::read_bytes(errors)};
}

}  // namespace vostok::cli::testing
