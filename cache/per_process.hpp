// State that must not survive a fork.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/process_mark.hpp"

namespace vostok::cache {

/// Holds a State for the calling process. In a child process the parent's is abandoned, not closed - closing would
/// release or roll back what the parent still has open - and a new one is made on first use. Its mutexes are new too,
/// so that one locked by a parent's thread at the fork blocks nobody.
template <class State>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<State>()>;

  explicit PerProcess(Make make) : make_(std::move(make)), current_(new Owned{{}, make_(), nullptr}) {}
  ~PerProcess() {
    Owned* owned = current_.load();
    if (owned->process.is_here()) delete owned;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  State& get() {
    Owned* known = current_.load(std::memory_order_acquire);
    if (known->process.is_here()) return *known->state;
    auto mine = std::unique_ptr<Owned>(new Owned{{}, make_(), known});
    if (current_.compare_exchange_strong(known, mine.get(), std::memory_order_acq_rel)) return *mine.release()->state;
    return *known->state;  // another thread of this process made it first
  }

 private:
  struct Owned {
    ProcessMark process;
    std::unique_ptr<State> state;
    Owned* abandoned;  ///< the parent's: kept reachable, never used
  };

  Make make_;
  std::atomic<Owned*> current_;
};

}  // namespace vostok::cache
