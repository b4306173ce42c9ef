// Frames between the tuner and its worker: what arrives is a frame or the end, and a frame that is sent again arrives as it was.
#include "tune/worker_frame.hpp"
#include "fuzz/input.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile input(bytes);
  tune::FrameStream stream(input.descriptor(), input.descriptor());
  tune::Frame frame;
  while (stream.receive(frame) == tune::FrameStream::State::done) {
    const InputFile copy("");
    tune::FrameStream back(copy.descriptor(), copy.descriptor());
    require(back.send(frame) == tune::FrameStream::State::done, "a frame that arrived can be sent");
    require(::lseek(copy.descriptor(), 0, SEEK_SET) == 0, "a file in memory can be read again");
    tune::Frame again;
    require(back.receive(again) == tune::FrameStream::State::done, "a frame that was sent arrives");
    require(again.fields == frame.fields && again.bytes == frame.bytes, "a frame arrives as it was sent");
  }
}
