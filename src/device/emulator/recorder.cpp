#include "device/emulator/recorder.hpp"

#include <chrono>
#include <utility>

namespace vostok::device::emulator {

class Recorder::Sequence final : public TimedSequence {
 public:
  explicit Sequence(std::vector<Work> work) : work_(std::move(work)) {}
  double replay_us() override {
    const auto start = std::chrono::steady_clock::now();
    for (const Work& work : work_) work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  std::vector<Work> work_;
};

void Recorder::queue(Stream stream, const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    if (auto position = recording_.find(reinterpret_cast<std::vector<Work>*>(stream)); position != recording_.end()) {
      (*position)->push_back(work);
      return;
    }
  }
  work();
}

bool Recorder::is_recording(Stream stream) const {
  const std::lock_guard lock(mutex_);
  return recording_.contains(reinterpret_cast<std::vector<Work>*>(stream));
}

std::unique_ptr<TimedSequence> Recorder::record(const std::function<void(Stream)>& enqueue) {
  std::vector<Work> work;
  const auto forget = [this](std::vector<Work>* ended) {
    const std::lock_guard lock(mutex_);
    recording_.erase(ended);
  };
  const std::unique_ptr<std::vector<Work>, decltype(forget)> guard(&work, forget);
  {
    const std::lock_guard lock(mutex_);
    recording_.insert(&work);
  }
  enqueue(reinterpret_cast<Stream>(&work));
  return std::make_unique<Sequence>(work);
}

}  // namespace vostok::device::emulator
