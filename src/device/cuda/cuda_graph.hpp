// A recorded sequence of launches as a CUDA graph.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/cuda_context.hpp"

namespace vostok::device::cuda {

class CudaSequence : public TimedSequence {
 public:
  /// Captures what `enqueue` puts on a private stream. What it throws is passed on, with nothing left behind.
  CudaSequence(std::shared_ptr<const CudaContext> context, const std::function<void(Stream)>& enqueue);
  ~CudaSequence() override;
  CudaSequence(const CudaSequence&) = delete;
  CudaSequence& operator=(const CudaSequence&) = delete;

  double replay_us() override;

 private:
  struct Parts;
  std::shared_ptr<const CudaContext> context_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace vostok::device::cuda
