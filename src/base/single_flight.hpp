// A memo in which concurrent callers of one key share one computation. Errors are not stored.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace vostok {

template <class Key, class Value>
class SingleFlight {
 public:
  /// The stored value, or `make()`'s. Callers that arrive while `make` runs wait for it; if it throws, its caller
  /// gets the exception and the next one tries again. `make` runs without the lock held.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make&& make) {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto [position, inserted] = slots_.try_emplace(key);
      if (inserted) break;
      if (position->second) return position->second;
      ready_.wait(lock);
    }
    lock.unlock();
    try {
      auto value = std::make_shared<const Value>(std::forward<Make>(make)());
      lock.lock();
      slots_[key] = value;
      ready_.notify_all();
      return value;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      slots_.erase(key);
      ready_.notify_all();
      throw;
    }
  }

  std::shared_ptr<const Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    auto position = slots_.find(key);
    return position == slots_.end() ? nullptr : position->second;
  }

  void erase(const Key& key) {
    const std::lock_guard lock(mutex_);
    auto position = slots_.find(key);
    if (position != slots_.end() && position->second) slots_.erase(position);
  }

  /// All but those that are being made.
  void clear() {
    const std::lock_guard lock(mutex_);
    std::erase_if(slots_, [](const auto& slot) { return slot.second != nullptr; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::map<Key, std::shared_ptr<const Value>> slots_;  // nullptr: being made
};

}  // namespace vostok
