// What another user of the machine sees and does: work in a forked child that has given up this process's rights.
#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "unit/flushed_fork.hpp"

namespace vostok::test {

constexpr unsigned second_user = 4711;
constexpr unsigned third_user = 4712;

/// Other users' files can be made and read by root only. A case that needs them prints why it is skipped.
inline bool can_be_other_users() { return ::geteuid() == 0; }
constexpr const char* skipped_without_root = "skipped: only root can act as a second user";

/// What `work` returns as that user, with the user's own group and no other; "failed: <reason>" where it does not
/// return.
inline std::string as_user(unsigned user, const std::function<std::string()>& work) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return "failed: no pipe";
  const pid_t child = flushed_fork();
  if (child == 0) {
    std::string said;
    try {
      const bool done =
          ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
      said = done ? work() : "failed: the user cannot be changed";
    } catch (const std::exception& error) {
      said = std::string("failed: ") + error.what();
    }
    const bool told = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char piece[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) > 0;)
    said.append(piece, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0
             ? said
             : "failed: the child ended with status " + std::to_string(status);
}

/// What one case of this test executable prints, started as that user from a copy at `program`, in an environment that
/// has `variables`
/// ("NAME=value") too; it begins with "passed: " where the case passed.
inline std::string run_copy_as(unsigned user, const std::filesystem::path& program, const std::string& test_case,
                               const std::vector<std::string>& variables) {
  return as_user(user, [&] {
    std::string command = "env";
    for (const std::string& variable : variables) command += " '" + variable + "'";
    command += " '" + program.string() + "' '-tc=" + test_case + "' 2>&1";
    FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) return std::string("failed: cannot start it");
    std::string text;
    for (int byte = 0; (byte = std::fgetc(output)) != EOF;) text += static_cast<char>(byte);
    // LeakSanitizer may not look into a set-user-ID process, and ends it for that when all is done.
    const bool ended_well =
        ::pclose(output) == 0 || text.find("LeakSanitizer has encountered a fatal error") != std::string::npos;
    const bool passed = ended_well && text.find("1 passed") != std::string::npos;
    return (passed ? "passed: " : "failed: ") + text;
  });
}

/// Whether this process, of a set-user-ID file of another user, has that user's rights: not where the mount takes no
/// such programs. By another question than the library's, so that a wrong answer of its own is no reason to skip.
inline bool has_rights_of_its_file() { return ::geteuid() != ::getuid(); }
constexpr const char* without_rights_of_its_file = "skipped: no set-user-ID program can be started here";

/// Copies this executable there, for everybody to start.
inline void copy_self(const std::filesystem::path& program) {
  std::filesystem::copy_file("/proc/self/exe", program);
  std::filesystem::permissions(program, std::filesystem::perms(0755));
}

}  // namespace vostok::test
