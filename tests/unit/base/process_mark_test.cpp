#include "base/process_mark.hpp"
#include "unit/flushed_fork.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

using namespace vostok;

namespace {

/// Whether `claim` holds in a child process.
bool holds_in_child(const std::function<bool()>& claim) {
  const pid_t child = test::flushed_fork();
  if (child == 0) _exit(claim() ? 0 : 1);
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

/// Tells when it goes.
struct Witness {
  explicit Witness(int& count) : gone(&count) {}
  ~Witness() { ++*gone; }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  int* gone;
};

}  // namespace

TEST_CASE("a mark is of the process that made it, not of its child, the child's child or a brother") {
  const ProcessMark parents;
  CHECK(parents.is_here());
  CHECK(holds_in_child([&] {
    const ProcessMark childs;
    return !parents.is_here() && childs.is_here() &&
           holds_in_child([&] { return !parents.is_here() && !childs.is_here(); }) && childs.is_here();
  }));
  CHECK(holds_in_child([&] { return !parents.is_here(); }));
  CHECK(parents.is_here());
}

TEST_CASE("an object of the parent is not destroyed in a child, and one of the child is") {
  int gone = 0;
  auto object = make_shared_here<Witness>(gone);
  CHECK(holds_in_child([&] {
    object.reset();
    const bool kept = gone == 0;
    make_shared_here<Witness>(gone).reset();
    return kept && gone == 1;
  }));
  object.reset();
  CHECK(gone == 1);
}
