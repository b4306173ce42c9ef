// A memo in which concurrent callers of one key share one computation. Errors are not stored.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace vostok {

template <class Key, class Value>
class SingleFlight {
 public:
  /// The stored value, or `make()`'s. Callers that arrive while `make` runs wait for it; if it throws, its caller
  /// gets the exception and the next one tries again. `make` runs without the lock held. Where it comes back for its
  /// own key (a log sink may plan what is being planned), the value is made twice, and the outer call's is kept.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make&& make) {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto [position, inserted] = slots_.try_emplace(key);
      Slot& slot = position->second;
      if (inserted) {
        slot.maker = std::this_thread::get_id();
        break;
      }
      if (slot.value) return slot.value;
      if (slot.maker == std::this_thread::get_id()) {
        lock.unlock();
        return std::make_shared<const Value>(std::forward<Make>(make)());
      }
      ready_.wait(lock);
    }
    lock.unlock();
    try {
      auto value = std::make_shared<const Value>(std::forward<Make>(make)());
      lock.lock();
      slots_[key].value = value;
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
    return position == slots_.end() ? nullptr : position->second.value;
  }

  void erase(const Key& key) {
    const std::lock_guard lock(mutex_);
    auto position = slots_.find(key);
    if (position != slots_.end() && position->second.value) slots_.erase(position);
  }

  /// All but those that are being made.
  void clear() {
    const std::lock_guard lock(mutex_);
    std::erase_if(slots_, [](const auto& slot) { return slot.second.value != nullptr; });
  }

 private:
  struct Slot {
    std::shared_ptr<const Value> value = {};  ///< null: being made
    std::thread::id maker = {};
  };

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::map<Key, Slot> slots_;
};

}  // namespace vostok
