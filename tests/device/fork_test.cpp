// A child of fork has neither the emulator's threads nor the parent's CUDA context, on every device that is here.
#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "device/spmm_operands.hpp"
#include "unit/child_outcome.hpp"

using namespace vostok;
using test::on_every_device;
using test::SpmmOperands;

namespace {

/// What a plan, its mask and its operands' memory need.
struct Handles {
  explicit Handles(const Context& of) : context(of) {
    operands.emplace(of, sparse::uniform(96, 80, 0.8, 1), 40, 2);
    mask = of.topology(operands->csr.view());
    plan = of.plan(Spmm{.n = 40}, mask);
  }

  void execute() const { plan.execute(nullptr, operands->arguments()); }
  void let_go() {
    operands.reset();
    plan = {};
    mask = {};
  }

  Context context;
  std::optional<SpmmOperands> operands;
  Topology mask;
  SpmmPlan plan;
};

/// The child's failures reach the parent as its exception.
void expect_after_fork(const char* name, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::after_fork) return;
    throw;
  }
  throw std::runtime_error(std::string(name) + " raised nothing");
}

}  // namespace

TEST_CASE(
    "in a child of fork execute, plan and topology are after_fork, handles can go, and the parent's results stay "
    "right") {
  on_every_device([](const Context& context) {
    Handles handles(context);
    handles.execute();
    for (int repeat = 0; repeat < 3; ++repeat) {
      const test::ChildOutcome outcome = test::in_child([&] {
        expect_after_fork("execute", [&] { handles.execute(); });
        expect_after_fork("plan", [&] { handles.context.plan(Spmm{.n = 8}, handles.mask); });
        expect_after_fork("topology", [&] { handles.context.topology(handles.operands->csr.view()); });
        handles.let_go();
      });
      CHECK_MESSAGE((outcome.finished && !outcome.threw), outcome.log);
      handles.execute();
      test::device_of(context).synchronize(nullptr);
      CHECK(handles.operands->error() <= handles.operands->tolerance());
    }
  });
}
