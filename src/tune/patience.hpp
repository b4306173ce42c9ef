// How long one process waits for another.
#pragma once

#include <chrono>

namespace vostok::tune {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;  ///< it stands still while the machine is suspended

  Patience() = default;
  virtual ~Patience() = default;
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// Milliseconds that the next wait may take; 0: it is at its end, -1: without end. Called before every wait.
  virtual int next_wait_ms() = 0;
};

class EndlessPatience final : public Patience {
 public:
  int next_wait_ms() override { return -1; }
};

/// By the clock.
class PatienceUntil final : public Patience {
 public:
  explicit PatienceUntil(Clock::time_point deadline) : deadline_(deadline) {}
  int next_wait_ms() override;

 private:
  Clock::time_point deadline_;
};

/// Milliseconds to wait for what is left, rounded up; 0 only where nothing is left.
int to_wait_ms(Patience::Clock::duration left);

}  // namespace vostok::tune
