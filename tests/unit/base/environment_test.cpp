#include "base/environment.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/temporary_folder.hpp"
#include "unit/second_user.hpp"

using namespace vostok;

namespace {

constexpr const char* variable = "VOSTOK_TEST_ENVIRONMENT";
constexpr const char* started_by_test = "VOSTOK_TEST_RAISED";

}  // namespace

TEST_CASE("with privileges raised no variable names code") {
  setenv(variable, "value", 1);
  CHECK(environment(variable) == "value");
  CHECK(trusted_environment(variable, false) == "value");
  CHECK_FALSE(trusted_environment(variable, true).has_value());
  if (!privileges_are_raised()) CHECK(trusted_environment(variable) == "value");
  setenv(variable, "", 1);
  CHECK_FALSE(trusted_environment(variable, false).has_value());
  unsetenv(variable);
  CHECK_FALSE(trusted_environment(variable, false).has_value());
}

TEST_CASE("a set-user-ID program takes no variable that names code") {
  if (std::getenv(started_by_test) != nullptr) {  // this executable again, which the case below has started
    if (!test::has_rights_of_its_file()) {
      MESSAGE(test::without_rights_of_its_file);
      return;
    }
    CHECK(privileges_are_raised());
    CHECK(environment(variable) == "value");
    CHECK_FALSE(trusted_environment(variable).has_value());
    return;
  }
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  const auto program = folder / "program";
  test::copy_self(program);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(chown(program.c_str(), test::third_user, 0) == 0);
  REQUIRE(chmod(program.c_str(), 04755) == 0);
  const std::string said = test::run_copy_as(test::second_user, program, "a set-user-ID program*",
                                             {std::string(started_by_test) + "=1", std::string(variable) + "=value"});
  // Where the folder's mount takes no set-user-ID programs, or the libraries may not be read by others, nothing can be
  // said.
  if (said.find(test::without_rights_of_its_file) != std::string::npos ||
      said.find("error while loading") != std::string::npos) {
    MESSAGE(test::without_rights_of_its_file, ": ", said);
    return;
  }
  CHECK_MESSAGE(said.starts_with("passed: "), said);
}
