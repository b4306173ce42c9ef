// Messages between the tuner and its worker process: frames of named fields, followed by bytes for bulk data.
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

  /// The field's text; empty if the field is missing.
  std::string text(const std::string& field) const;
  /// The field's number; 0 if the field is missing or not a number.
  std::int64_t number(const std::string& field) const;
};

/// Frames over two descriptors, which this does not own. On the wire: two 64-bit lengths in this machine's byte order,
/// the fields as text (base/field_map.hpp), the bytes. Neither call throws, and a peer that is gone raises no signal.
class FrameStream {
 public:
  using Clock = Patience::Clock;
  enum class State { done, timed_out, closed, malformed };
  /// The maximum number of bytes that may follow these fields.
  using MostBytes = std::function<std::uint64_t(const Frame& fields)>;

  FrameStream(int input, int output) : input_(input), output_(output) {}

  State send(const Frame& frame, Patience& patience);
  State send(const Frame& frame);  ///< waits without a limit
  /// Receives the next frame. Of an incomplete frame `frame.bytes` holds what came. Memory is allocated as bytes
  /// arrive, not by the promised length: at most as much again plus a piece of 1 MiB. `malformed`: not a frame, or too
  /// long for one; see why(). Without `most_bytes` no bytes may follow the fields.
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
