#include "tune/worker_frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>

#include "base/field_map.hpp"

namespace vostok::tune {

namespace {

struct Lengths {
  std::uint64_t fields = 0;
  std::uint64_t bytes = 0;
};

/// More is no frame of ours.
constexpr std::uint64_t most_field_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 36;

/// Milliseconds to wait in one poll; -1 without end.
int wait_ms(FrameStream::Clock::time_point deadline) {
  if (deadline == FrameStream::Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - FrameStream::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, std::numeric_limits<int>::max()));
}

/// Until the descriptor is ready for `events`, or has failed, which the next call on it will tell.
FrameStream::State wait_for(int descriptor, short events, FrameStream::Clock::time_point deadline) {
  for (;;) {
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    const int ready = poll(&waiting, 1, wait_ms(deadline));
    if (ready > 0) return FrameStream::State::done;
    if (ready == 0 && FrameStream::Clock::now() >= deadline) return FrameStream::State::timed_out;
    if (ready < 0 && errno != EINTR) return FrameStream::State::closed;
  }
}

/// A socket is written without a signal; a pipe, which only the worker has, as it is.
ssize_t write_some(int descriptor, const char* data, std::size_t bytes) {
  const ssize_t sent = ::send(descriptor, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 && errno == ENOTSOCK ? ::write(descriptor, data, bytes) : sent;
}

bool is_transient(int error) { return error == EINTR || error == EAGAIN; }

}  // namespace

std::string Frame::text(const std::string& field) const {
  const auto position = fields.find(field);
  return position == fields.end() ? std::string() : position->second;
}

std::int64_t Frame::number(const std::string& field) const {
  const std::string value = text(field);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : 0;
}

FrameStream::State FrameStream::write_all(const char* data, std::size_t bytes, Clock::time_point deadline) {
  while (bytes > 0) {
    if (const State state = wait_for(output_, POLLOUT, deadline); state != State::done) return state;
    const ssize_t written = write_some(output_, data, bytes);
    if (written < 0 && !is_transient(errno)) return State::closed;
    if (written <= 0) continue;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return State::done;
}

FrameStream::State FrameStream::read_all(char* data, std::size_t bytes, Clock::time_point deadline) {
  while (bytes > 0) {
    if (const State state = wait_for(input_, POLLIN, deadline); state != State::done) return state;
    const ssize_t got = ::read(input_, data, bytes);
    if (got == 0 || (got < 0 && !is_transient(errno))) return State::closed;
    if (got < 0) continue;
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return State::done;
}

FrameStream::State FrameStream::send(const Frame& frame, Clock::time_point deadline) {
  const std::string fields = to_text(frame.fields);
  const Lengths lengths{.fields = fields.size(), .bytes = frame.bytes.size()};
  State state = write_all(reinterpret_cast<const char*>(&lengths), sizeof lengths, deadline);
  if (state == State::done) state = write_all(fields.data(), fields.size(), deadline);
  if (state == State::done) state = write_all(frame.bytes.data(), frame.bytes.size(), deadline);
  return state;
}

FrameStream::State FrameStream::receive(Frame& frame, Clock::time_point deadline) {
  Lengths lengths;
  State state = read_all(reinterpret_cast<char*>(&lengths), sizeof lengths, deadline);
  if (state != State::done) return state;
  if (lengths.fields > most_field_bytes || lengths.bytes > most_bytes) return State::closed;
  std::string fields(lengths.fields, '\0');
  state = read_all(fields.data(), fields.size(), deadline);
  if (state != State::done) return state;
  frame.bytes.resize(lengths.bytes);
  state = read_all(frame.bytes.data(), frame.bytes.size(), deadline);
  if (state != State::done) return state;
  auto parsed = parse_field_map(fields);
  if (!parsed) return State::closed;
  frame.fields = *std::move(parsed);
  return State::done;
}

}  // namespace vostok::tune
