// The least that a launch can cost the host: the driver's call with ready arguments, for what `execute` does beside it.
#pragma once

#include <array>

#include <vostok/plan.hpp>

#include "device/cuda/driver_library.hpp"
#include "plan/plan_state.hpp"

namespace vostok::bench {

/// The launch of a plan for one n, bound to its operands. Its plan, driver and context must outlive it, and the context
/// be current.
class RawLaunch {
 public:
  /// Errors: invalid_argument (the plan launches nothing).
  RawLaunch(const device::cuda::Driver& driver, const SpmmPlan& plan, const SpmmArguments& arguments, Stream stream);
  RawLaunch(const RawLaunch&) = delete;
  RawLaunch& operator=(const RawLaunch&) = delete;

  /// cuLaunchKernelEx and a comparison of what it returns.
  void operator()() const {
    const device::cuda::Result result = driver_.cuLaunchKernelEx(&config_, function_, parameters_, nullptr);
    if (result != device::cuda::Result::success)
      driver_.fail_call("launch a kernel", driver_.cuLaunchKernelEx.name, result);
  }

 private:
  alignas(ops::argument_alignment) std::array<unsigned char, ops::max_argument_bytes> arguments_{};
  const device::cuda::Driver& driver_;
  mutable void* parameters_[1] = {arguments_.data()};
  device::cuda::LaunchConfig config_{};
  device::cuda::FunctionHandle function_ = nullptr;
};

}  // namespace vostok::bench
