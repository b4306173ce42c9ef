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

  /// Milliseconds that the next wait may take; 0: none left, -1: no limit. Called before every wait.
  virtual int next_wait_ms() = 0;
};

class EndlessPatience final : public Patience {
 public:
  int next_wait_ms() override { return -1; }
};

/// Patience until a deadline.
class PatienceUntil final : public Patience {
 public:
  explicit PatienceUntil(Clock::time_point deadline) : deadline_(deadline) {}
  int next_wait_ms() override;

 private:
  Clock::time_point deadline_;
};

/// The time left in milliseconds, rounded up; 0 only if nothing is left.
int to_wait_ms(Patience::Clock::duration left);

}  // namespace vostok::tune
