// Streams of a synchronous device: work runs at once, except on a stream that records it.
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

  /// Runs `work`, or keeps it where `stream` is recording.
  void queue(Stream stream, const Work& work);
  bool is_recording(Stream stream) const;
  /// Calls `enqueue` once with a stream of its own and keeps what it queues there, as a GPU's graph does: kernels and
  /// memory must live as long as the sequence.
  std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>& enqueue);

 private:
  class Sequence;
  mutable std::mutex mutex_;
  std::set<std::vector<Work>*> recording_;
};

}  // namespace vostok::device::emulator
