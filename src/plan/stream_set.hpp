// The streams on which an object was used: noted by `execute` without a lock, read when the object goes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <vostok/topology.hpp>

namespace vostok::plan {

class StreamSet {
 public:
  /// Lock-free; a stream noted before costs one or a few loads.
  void note(Stream stream) noexcept {
    const std::uintptr_t mark = encode(stream);
    for (std::atomic<std::uintptr_t>& slot : slots_) {
      std::uintptr_t seen = slot.load(std::memory_order_relaxed);
      if (seen == mark) return;
      if (seen == 0 && (slot.compare_exchange_strong(seen, mark, std::memory_order_relaxed) || seen == mark)) return;
    }
    overflowed_.store(true, std::memory_order_relaxed);
  }

  /// True after more streams than slots: which work uses the object is then unknown.
  bool overflowed() const noexcept { return overflowed_.load(std::memory_order_relaxed); }

  std::vector<Stream> streams() const {
    std::vector<Stream> result;
    for (const std::atomic<std::uintptr_t>& slot : slots_)
      if (const std::uintptr_t mark = slot.load(std::memory_order_relaxed); mark != 0)
        result.push_back(reinterpret_cast<Stream>(mark - 1));
    return result;
  }

 private:
  /// 0 is a free slot, so that nullptr (the legacy stream) needs another mark. Handles are aligned: + 1 is unambiguous.
  static std::uintptr_t encode(Stream stream) noexcept { return reinterpret_cast<std::uintptr_t>(lasting(stream)) + 1; }

  /// Replaces handles that other threads cannot use. A thread's default stream has no name in other threads, one of
  /// which may be the last to hold the object. The legacy stream waits for it, as for every blocking stream.
  static Stream lasting(Stream stream) noexcept {
    return stream == legacy_stream || stream == per_thread_stream ? nullptr : stream;
  }

  std::array<std::atomic<std::uintptr_t>, 16> slots_ = {};
  std::atomic<bool> overflowed_ = false;
};

}  // namespace vostok::plan
