// What the tuner and its worker process say to one another: frames of named fields, with bytes behind them where there are many.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <vostok/plan.hpp>

namespace vostok::tune {

struct Frame {
  FieldMap fields = {};
  std::string bytes = {};

  /// The field's text; empty where it is not there.
  std::string text(const std::string& field) const;
  /// The field's number; 0 where it is not there or none.
  std::int64_t number(const std::string& field) const;
};

/// Frames over two descriptors, which it does not own. On the wire: two 64-bit lengths in this machine's byte order, the fields as text
/// (base/field_map.hpp), the bytes. Neither call throws, and a peer that has gone raises no signal.
class FrameStream {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { done, timed_out, closed };

  FrameStream(int input, int output) : input_(input), output_(output) {}

  State send(const Frame& frame, Clock::time_point deadline = Clock::time_point::max());
  /// The next frame in `frame`. What is no frame counts as closed.
  State receive(Frame& frame, Clock::time_point deadline = Clock::time_point::max());

 private:
  State write_all(const char* data, std::size_t bytes, Clock::time_point deadline);
  State read_all(char* data, std::size_t bytes, Clock::time_point deadline);

  int input_;
  int output_;
};

}  // namespace vostok::tune
