#include "tune/worker_frame.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

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

}  // namespace

TEST_CASE("a frame arrives as it was sent, whatever its fields and however many bytes follow") {
  Ends ends;
  Frame sent{.fields = {{"status", "wrong"}, {"reason", "two words = 100 %\nand a line"}, {"empty", ""}}, .bytes = {}};
  for (int i = 0; i < 3'000'000; ++i) sent.bytes.push_back(static_cast<char>(i * 7));
  Frame received;
  // More than a socket holds: the two ends work at the same time.
  const std::jthread sender([&] { CHECK(ends.end(0).send(sent) == State::done); });
  REQUIRE(ends.end(1).receive(received) == State::done);
  CHECK(received.fields == sent.fields);
  CHECK(received.bytes == sent.bytes);
}

TEST_CASE("a frame that does not come in time is timed out, and one of an end that is gone is closed") {
  Ends ends;
  Frame frame;
  CHECK(ends.end(0).receive(frame, soon()) == State::timed_out);
  close(ends.sockets[1]);
  ends.sockets[1] = -1;
  CHECK(ends.end(0).receive(frame, soon()) == State::closed);
  CHECK(ends.end(0).send({.fields = {{"verb", "open"}}, .bytes = {}}, soon()) == State::closed);
}

TEST_CASE("an end that does not read lets a send time out") {
  Ends ends;
  const Frame large{.fields = {}, .bytes = std::string(8'000'000, 'x')};
  CHECK(ends.end(0).send(large, soon()) == State::timed_out);
}

TEST_CASE("what is no frame counts as closed") {
  Ends ends;
  const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
  REQUIRE(write(ends.sockets[1], text.data(), text.size()) == std::ssize(text));
  Frame frame;
  CHECK(ends.end(0).receive(frame) == State::closed);
}

TEST_CASE("numbers of a frame: what is none is 0") {
  const Frame frame{.fields = {{"rounds", "23"}, {"text", "2x"}, {"negative", "-4"}}, .bytes = {}};
  CHECK(frame.number("rounds") == 23);
  CHECK(frame.number("negative") == -4);
  CHECK(frame.number("text") == 0);
  CHECK(frame.number("absent") == 0);
}
