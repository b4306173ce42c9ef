#include "tune/worker_frame.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>

#include "base/field_map.hpp"

using namespace vostok;
using tune::Frame;
using tune::FrameStream;
using State = tune::FrameStream::State;

namespace {

struct Ends {
  std::array<int, 2> sockets = {-1, -1};
  Ends() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0); }
  ~Ends() {
    close(sockets[0]);
    close(sockets[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  FrameStream end(int i) { return {sockets[static_cast<std::size_t>(i)], sockets[static_cast<std::size_t>(i)]}; }
};

FrameStream::Clock::time_point soon() { return FrameStream::Clock::now() + std::chrono::milliseconds(20); }

State receive_soon(FrameStream stream, Frame& frame, const FrameStream::MostBytes& most_bytes = {}) {
  tune::PatienceUntil patience(soon());
  return stream.receive(frame, patience, most_bytes);
}

State receive(FrameStream stream, Frame& frame, const FrameStream::MostBytes& most_bytes = {}) {
  tune::EndlessPatience patience;
  return stream.receive(frame, patience, most_bytes);
}

constexpr std::uint64_t promised = std::uint64_t{64} << 30;
std::uint64_t any_number(const Frame&) { return promised; }

void put(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// As it goes over the wire, whatever the lengths promise.
std::string wire(std::uint64_t field_bytes, std::uint64_t bytes, const std::string& rest) {
  std::string text(2 * sizeof(std::uint64_t), '\0');
  std::memcpy(text.data(), &field_bytes, sizeof field_bytes);
  std::memcpy(text.data() + sizeof field_bytes, &bytes, sizeof bytes);
  return text + rest;
}

std::string wire(const std::string& fields, const std::string& bytes) {
  return wire(fields.size(), bytes.size(), fields + bytes);
}

/// What becomes of these bytes, with nothing behind them.
State received(const std::string& bytes, Frame& frame) {
  Ends ends;
  const std::jthread sender([&] {
    put(ends.sockets[1], bytes);
    shutdown(ends.sockets[1], SHUT_WR);
  });
  const State state = receive(ends.end(0), frame, any_number);
  shutdown(ends.sockets[0], SHUT_RDWR);  // the sender may have more, which nobody reads
  return state;
}

}  // namespace

TEST_CASE("a frame arrives as it was sent, whatever its fields and however many bytes follow") {
  Ends ends;
  Frame sent{.fields = {{"status", "wrong"}, {"reason", "two words = 100 %\nand a line"}, {"empty", ""}}, .bytes = {}};
  for (int i = 0; i < 3'000'000; ++i) sent.bytes.push_back(static_cast<char>(i * 7));
  Frame received;
  // More than a socket holds: the two ends work at the same time.
  const std::jthread sender([&] { CHECK(ends.end(0).send(sent) == State::done); });
  REQUIRE(receive(ends.end(1), received, any_number) == State::done);
  CHECK(received.fields == sent.fields);
  CHECK(received.bytes == sent.bytes);
}

TEST_CASE("a frame that does not come in time is timed out, and one of an end that is gone is closed") {
  Ends ends;
  Frame frame;
  CHECK(receive_soon(ends.end(0), frame) == State::timed_out);
  close(ends.sockets[1]);
  ends.sockets[1] = -1;
  CHECK(receive(ends.end(0), frame) == State::closed);
  CHECK(ends.end(0).send({.fields = {{"verb", "open"}}, .bytes = {}}) == State::closed);
}

TEST_CASE("an end that does not read lets a send time out") {
  Ends ends;
  const Frame large{.fields = {}, .bytes = std::string(8'000'000, 'x')};
  tune::PatienceUntil patience(soon());
  CHECK(ends.end(0).send(large, patience) == State::timed_out);
}

TEST_CASE("what is no frame is malformed, and it is said why") {
  Frame frame;
  CHECK(received("HTTP/1.1 400 Bad Request\r\n\r\n", frame) == State::malformed);
  CHECK(received(wire("status", ""), frame) == State::malformed);
  CHECK(received(wire("a=1 a=2", ""), frame) == State::malformed);

  Ends ends;
  put(ends.sockets[1], wire("verb=open", "more"));
  FrameStream stream = ends.end(0);
  tune::EndlessPatience patience;
  CHECK(stream.receive(frame, patience) == State::malformed);
  CHECK(stream.why() == "it promises 4 bytes behind its fields, where 0 may follow");
}

TEST_CASE("fields are bounded in number and length, on either side") {
  Frame many, long_text{.fields = {{"text", std::string(2 << 20, 'x')}}, .bytes = {}}, frame;
  for (int i = 0; i < 5000; ++i) many.fields[std::to_string(i)] = "";
  for (const Frame* sent : {&many, &long_text}) {
    Ends ends;
    CHECK(ends.end(0).send(*sent) == State::malformed);
    CHECK(received(wire(to_text(sent->fields), ""), frame) == State::malformed);
  }
}

TEST_CASE("memory is taken for bytes that arrive, not for those that a frame promises") {
  constexpr std::size_t piece = 1 << 20;
  for (const std::size_t sent : {std::size_t{0}, std::size_t{1}, 3 * piece}) {
    CAPTURE(sent);
    Ends ends;
    const std::jthread sender([&] {
      put(ends.sockets[1], wire(0, promised, ""));
      const std::string drip(1000, 'x');
      for (std::size_t left = sent; left > 0; left -= std::min(left, drip.size()))
        put(ends.sockets[1], drip.substr(0, left));
      shutdown(ends.sockets[1], SHUT_WR);
    });
    Frame frame;
    CHECK(receive(ends.end(0), frame, any_number) == State::closed);
    CHECK(frame.bytes.capacity() <= 2 * sent + piece);
  }
  Ends silent;
  put(silent.sockets[1], wire(0, promised, ""));
  Frame frame;
  CHECK(receive_soon(silent.end(0), frame, any_number) == State::timed_out);
  CHECK(frame.bytes.capacity() <= piece);
}

TEST_CASE("a frame may come in drips, and is closed wherever it is cut") {
  const std::string whole = wire("rows=2 verb=problem", "twelve bytes");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Frame frame;
    CHECK(received(whole.substr(0, cut), frame) == State::closed);
  }
  Ends ends;
  const std::jthread sender([&] {
    for (const char byte : whole) put(ends.sockets[1], {&byte, 1});
  });
  Frame frame;
  REQUIRE(receive(ends.end(0), frame, any_number) == State::done);
  CHECK(frame.number("rows") == 2);
  CHECK(frame.bytes == "twelve bytes");
}

TEST_CASE("frames with random changes are taken, refused or closed, and never allocated before they come") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  const std::string whole = wire("config=tile_rows%3D4 rows=2 slow_us=1.5 verb=problem", std::string(100, 'b'));
  for (int i = 0; i < 500; ++i) {
    std::string changed = whole;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes)
      changed[below(changed.size())] = static_cast<char>(below(256));
    if (below(4) == 0) changed.resize(below(changed.size()));
    Frame frame;
    const State state = received(changed, frame);
    CHECK(state != State::timed_out);
    CHECK(frame.bytes.capacity() <= 2 * changed.size() + (1 << 20));
  }
}

TEST_CASE("numbers of a frame: what is none is 0") {
  const Frame frame{.fields = {{"rounds", "23"}, {"text", "2x"}, {"negative", "-4"}}, .bytes = {}};
  CHECK(frame.number("rounds") == 23);
  CHECK(frame.number("negative") == -4);
  CHECK(frame.number("text") == 0);
  CHECK(frame.number("absent") == 0);
}
