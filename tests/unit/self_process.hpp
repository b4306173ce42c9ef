// This test executable again, as another process that its environment tells what to do.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace vostok::test {

/// `variables`: "NAME=value", the whole environment. Its standard output goes to `output`, where that is no negative
/// number.
inline pid_t start_self(std::vector<std::string> variables, int output = -1, std::vector<std::string> arguments = {}) {
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  arguments.insert(arguments.begin(), "vostok_test");
  const std::vector<char*> environment = pointers(variables);
  const std::vector<char*> words = pointers(arguments);
  const pid_t child = fork();
  if (child != 0) return child;
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execve("/proc/self/exe", words.data(), environment.data());
  _exit(127);
}

/// Waits for it; 1000 and the signal where one ended it.
inline int exit_status(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace vostok::test
