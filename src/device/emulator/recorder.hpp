// Streams of a synchronous device: work runs at once, except on a recording stream.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "device/device.hpp"

namespace vostok::device::emulator {

/// Thread-safe.
class Recorder {
 public:
  using Work = std::function<void()>;

  /// Runs `work`, or stores it if `stream` is recording.
  void queue(Stream stream, const Work& work);
  bool is_recording(Stream stream) const;
  /// Calls `enqueue` once with a separate stream and stores what it queues there, like a CUDA graph: kernels and memory
  /// must outlive the sequence.
  std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>& enqueue);

 private:
  class Sequence;
  mutable std::mutex mutex_;
  std::set<std::vector<Work>*> recording_;
};

}  // namespace vostok::device::emulator
