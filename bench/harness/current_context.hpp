// Makes a CUDA context current for peers and raw driver calls, since the library leaves none current on the calling
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/cuda/cuda_context.hpp"

namespace vostok::bench {

/// Makes the primary context of a Context's GPU current on this thread while it lives. Does nothing on the emulator.
class CurrentContext {
 public:
  /// `device`: as given to the Context ("auto" is cuda:0 where `gpu`). Errors: no_device.
  CurrentContext(const std::string& device, bool gpu);

  /// Null on the emulator.
  const std::shared_ptr<const device::cuda::CudaContext>& cuda() const { return context_; }
  const device::cuda::Driver& driver() const { return context_->driver(); }  ///< only if there is a GPU

 private:
  std::shared_ptr<const device::cuda::CudaContext> context_;
  std::optional<device::cuda::ContextScope> scope_;
};

}  // namespace vostok::bench
