// What the tuner and its worker process say to one another: frames of named fields, with bytes behind them where there are many.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <vostok/plan.hpp>

#include "tune/patience.hpp"

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
  using Clock = Patience::Clock;
  enum class State { done, timed_out, closed, malformed };
  /// The most bytes that may follow these fields.
  using MostBytes = std::function<std::uint64_t(const Frame& fields)>;

  FrameStream(int input, int output) : input_(input), output_(output) {}

  State send(const Frame& frame, Patience& patience);
  State send(const Frame& frame);  ///< with endless patience
  /// The next frame in `frame`; of one that does not come whole, its bytes hold what came. What a length promises is no
  /// reason to allocate: memory is taken as bytes arrive, at most as much again and a piece of 1 MiB. `malformed`: it
  /// is no frame, or too long for one; see why(). Without `most_bytes` no bytes may follow the fields.
  State receive(Frame& frame, Patience& patience, const MostBytes& most_bytes = {});

  /// What was wrong with the frame that was last malformed.
  const std::string& why() const { return why_; }

 private:
  State write_all(const char* data, std::size_t bytes, Patience& patience);
  State read_all(char* data, std::size_t bytes, Patience& patience);
  State read_growing(std::string& into, std::uint64_t bytes, Patience& patience);
  State refuse(std::string why);

  int input_;
  int output_;
  std::string why_;
};

}  // namespace vostok::tune
