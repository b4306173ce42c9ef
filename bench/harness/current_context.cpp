#include "bench/harness/current_context.hpp"

#include <string_view>

namespace vostok::bench {

CurrentContext::CurrentContext(const std::string& device, bool gpu) {
  if (!gpu) return;
  constexpr std::string_view prefix = "cuda:";
  const int ordinal = device.starts_with(prefix) ? std::stoi(device.substr(prefix.size())) : 0;
  context_ = std::make_shared<const device::cuda::CudaContext>(device::cuda::open_driver(), ordinal, nullptr);
  scope_.emplace(*context_);
}

}  // namespace vostok::bench
