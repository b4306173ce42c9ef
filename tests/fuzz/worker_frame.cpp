// Frames between the tuner and its worker: what arrives is a frame or the end, and a frame that is sent again arrives
// as it was.
#include "tune/worker_frame.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  using State = tune::FrameStream::State;
  const auto gigabytes = [](const tune::Frame&) {
    return std::uint64_t{1} << 40;
  };  // as a frame of a large structure may promise
  const InputFile input(bytes);
  tune::FrameStream stream(input.descriptor(), input.descriptor());
  tune::EndlessPatience patience;
  tune::Frame frame;
  while (stream.receive(frame, patience, gigabytes) == State::done) {
    const InputFile copy("");
    tune::FrameStream back(copy.descriptor(), copy.descriptor());
    require(back.send(frame) == State::done, "a frame that arrived can be sent");
    require(::lseek(copy.descriptor(), 0, SEEK_SET) == 0, "a file in memory can be read again");
    tune::Frame again;
    require(back.receive(again, patience, gigabytes) == State::done, "a frame that was sent arrives");
    require(again.fields == frame.fields && again.bytes == frame.bytes, "a frame arrives as it was sent");
  }
}
