#include "bench/peers/raw_launch.hpp"

#include "base/text.hpp"
#include "device/cuda/cuda_kernel.hpp"

namespace vostok::bench {

RawLaunch::RawLaunch(const device::cuda::Driver& driver, const SpmmPlan& plan, const SpmmArguments& arguments,
                     Stream stream)
    : driver_(driver) {
  if (plan.state()->choices.empty())
    fail(ErrorCode::invalid_argument, "cannot launch a plan's kernel: the plan has none");
  const ops::Launch& launch = plan.state()->choices.back().launches.front();
  SpmmArguments call = arguments;
  call.n = plan.problem().n;
  const device::LaunchShape shape = launch.bind(&call, arguments_.data());
  launch.make_maps(plan.state()->session->device(), arguments_.data());
  config_ = {.grid_x = shape.grid.x,
             .grid_y = shape.grid.y,
             .grid_z = shape.grid.z,
             .block_x = shape.block.x,
             .block_y = shape.block.y,
             .block_z = shape.block.z,
             .shared_bytes = static_cast<unsigned>(shape.shared_bytes),
             .stream = stream,
             .attributes = nullptr,
             .attribute_count = 0};
  function_ = static_cast<const device::cuda::CudaKernel&>(*launch.kernel()).function();
}

}  // namespace vostok::bench
