#include "cache/allowance.hpp"

#include <limits>
#include <utility>

#include "base/text.hpp"
#include "cache/database.hpp"

namespace vostok::cache {

namespace {

// Pages of a malformed file can contain each other many times over, so that a few kilobytes yield rows without end. A
// sound file takes less than one step a byte; a join returns a device's text with every row.
constexpr std::int64_t least_steps = 5'000'000;
constexpr std::int64_t steps_for_a_byte = 50;
constexpr std::int64_t least_bytes = std::int64_t{64} << 20;
constexpr std::int64_t bytes_for_a_byte = 32;

}  // namespace

Allowance::Allowance(std::string name, std::function<std::int64_t()> bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)) {}

void Allowance::begin() {
  since_ = Clock::now();
  steps_ = 0;
  is_late_ = false;
}

/// A product without overflow, whatever size a file claims.
std::int64_t Allowance::times_the_file(std::int64_t floor, std::int64_t factor) const {
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t bytes = bytes_ ? bytes_() : no_limit;
  return bytes > (no_limit - floor) / factor ? no_limit : floor + factor * bytes;
}

bool Allowance::step() noexcept {
  steps_ += steps_at_once;
  is_late_ = Clock::now() - since_ >= limit_;
  if (steps_ > most_steps_) most_steps_ = times_the_file(least_steps, steps_for_a_byte);
  return !is_late_ && steps_ <= most_steps_;
}

void Allowance::check_read(std::int64_t read_bytes) const {
  if (read_bytes > least_bytes && read_bytes > times_the_file(least_bytes, bytes_for_a_byte))
    throw DatabaseError(
        Failure::damaged,
        fmt::format("cannot read {}: it gives out more rows than a file of {} bytes holds", name_, bytes_()));
}

void Allowance::fail() const {
  const auto seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  if (is_late_)
    throw DatabaseError(Failure::other, fmt::format("cannot use {}: one statement took over {:.1f} s", name_, seconds));
  throw DatabaseError(Failure::damaged,
                      fmt::format("cannot use {}: after {:.1f} s there is no end to what it holds in {} bytes", name_,
                                  seconds, bytes_ ? bytes_() : 0));
}

}  // namespace vostok::cache
