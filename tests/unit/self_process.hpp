// This test executable again, as another process that its environment tells what to do.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace vostok::test {

/// `variables`: "NAME=value", the whole environment. Its standard output goes to `output`, where that is no negative number.
inline pid_t start_self(std::vector<std::string> variables, int output = -1) {
  std::vector<char*> environment;
  environment.reserve(variables.size() + 1);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  char name[] = "vostok_test";
  char* arguments[] = {name, nullptr};
  const pid_t child = fork();
  if (child != 0) return child;
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execve("/proc/self/exe", arguments, environment.data());
  _exit(127);
}

/// Waits for it; 1000 and the signal where one ended it.
inline int exit_status(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace vostok::test
