#include "tune/worker_frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/field_map.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"

namespace vostok::tune {

namespace {

struct Lengths {
  std::uint64_t fields = 0;
  std::uint64_t bytes = 0;
};

/// Limits beyond which a message is not one of our frames.
constexpr std::uint64_t most_field_bytes = std::uint64_t{1} << 20;
constexpr std::size_t most_fields = 4096;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Waits until the descriptor is ready for `events`, or has failed, which the next call on it reports.
FrameStream::State wait_for(int descriptor, short events, Patience& patience) {
  for (;;) {
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    const int wait_ms = patience.next_wait_ms();
    const int ready = poll(&waiting, 1, wait_ms);
    if (ready > 0) return FrameStream::State::done;
    if (ready == 0 && wait_ms == 0) return FrameStream::State::timed_out;
    if (ready < 0 && errno != EINTR) return FrameStream::State::closed;
  }
}

/// Writes to a socket without raising a signal; a pipe, which only the worker has, is written plainly.
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
  return parse_number<std::int64_t>(text(field)).value_or(0);
}

FrameStream::State FrameStream::write_all(const char* data, std::size_t bytes, Patience& patience) {
  while (bytes > 0) {
    if (const State state = wait_for(output_, POLLOUT, patience); state != State::done) return state;
    const ssize_t written = write_some(output_, data, bytes);
    if (written < 0 && !is_transient(errno)) return State::closed;
    if (written <= 0) continue;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return State::done;
}

FrameStream::State FrameStream::read_all(char* data, std::size_t bytes, Patience& patience) {
  while (bytes > 0) {
    if (const State state = wait_for(input_, POLLIN, patience); state != State::done) return state;
    const ssize_t got = ::read(input_, data, bytes);
    if (got == 0 || (got < 0 && !is_transient(errno))) return State::closed;
    if (got < 0) continue;
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return State::done;
}

FrameStream::State FrameStream::read_growing(std::string& into, std::uint64_t bytes, Patience& patience) {
  into.clear();
  while (into.size() < bytes) {
    const std::size_t at = into.size();
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, std::max(piece_bytes, at)));
    try {
      into.resize(at + step);
    } catch (const std::exception&) {
      return refuse(fmt::format("there is no memory for {} bytes of it", bytes));
    }
    if (const State state = read_all(into.data() + at, step, patience); state != State::done) return state;
  }
  return State::done;
}

FrameStream::State FrameStream::refuse(std::string why) {
  why_ = std::move(why);
  return State::malformed;
}

FrameStream::State FrameStream::send(const Frame& frame) {
  EndlessPatience patience;
  return send(frame, patience);
}

FrameStream::State FrameStream::send(const Frame& frame, Patience& patience) {
  const std::string fields = to_text(frame.fields);
  if (fields.size() > most_field_bytes || frame.fields.size() > most_fields)
    return refuse(fmt::format("its {} fields are {} bytes long", frame.fields.size(), fields.size()));
  const Lengths lengths{.fields = fields.size(), .bytes = frame.bytes.size()};
  State state = write_all(reinterpret_cast<const char*>(&lengths), sizeof lengths, patience);
  if (state == State::done) state = write_all(fields.data(), fields.size(), patience);
  if (state == State::done) state = write_all(frame.bytes.data(), frame.bytes.size(), patience);
  return state;
}

FrameStream::State FrameStream::receive(Frame& frame, Patience& patience, const MostBytes& most_bytes) {
  Lengths lengths;
  State state = read_all(reinterpret_cast<char*>(&lengths), sizeof lengths, patience);
  if (state != State::done) return state;
  if (lengths.fields > most_field_bytes) return refuse(fmt::format("it promises fields of {} bytes", lengths.fields));
  std::string fields;
  state = read_growing(fields, lengths.fields, patience);
  if (state != State::done) return state;
  if (static_cast<std::size_t>(std::count(fields.begin(), fields.end(), ' ')) >= most_fields)
    return refuse("it has too many fields");
  auto parsed = parse_field_map(fields);
  if (!parsed) return refuse("its fields are no fields");
  frame.fields = *std::move(parsed);
  const std::uint64_t most = most_bytes ? most_bytes(frame) : 0;
  if (lengths.bytes > most)
    return refuse(fmt::format("it promises {} bytes behind its fields, where {} may follow", lengths.bytes, most));
  return read_growing(frame.bytes, lengths.bytes, patience);
}

}  // namespace vostok::tune
