// A recorded sequence of launches as a CUDA graph.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "device/cuda/cuda_context.hpp"

namespace vostok::device::cuda {

/// The stream on which sequences are captured, one at a time. It lives as long as the device: objects used in a capture
/// note this stream, and query it for completion when they are destroyed.
struct RecordingStream {
  explicit RecordingStream(const CudaContext& context) : stream(context) {}

  std::mutex mutex;
  OwnedStream stream;
};

class CudaSequence : public TimedSequence {
 public:
  /// Captures what `enqueue` queues on the recording stream. Exceptions pass through and leave nothing behind.
  CudaSequence(std::shared_ptr<const CudaContext> context, RecordingStream& recording,
               const std::function<void(Stream)>& enqueue);
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
