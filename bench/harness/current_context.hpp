// Peers and raw driver calls find their CUDA context on the calling thread; the library leaves none there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/cuda/cuda_context.hpp"

namespace vostok::bench {

/// While it lives, the primary context of the GPU that a Context was opened on is current on this thread. Nothing on the emulator.
class CurrentContext {
 public:
  /// `device`: as given to the Context ("auto" is cuda:0 where `gpu`). Errors: no_device.
  CurrentContext(const std::string& device, bool gpu);

  /// Null on the emulator.
  const std::shared_ptr<const device::cuda::CudaContext>& cuda() const { return context_; }
  const device::cuda::Driver& driver() const { return context_->driver(); }  ///< only where there is a GPU

 private:
  std::shared_ptr<const device::cuda::CudaContext> context_;
  std::optional<device::cuda::ContextScope> scope_;
};

}  // namespace vostok::bench
