// Real GPUs as a user's program sees them: a thread with the primary context current, streams and captures through the
// driver itself.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/cuda_context.hpp"
#include "device/devices.hpp"

namespace vostok::test {

/// A stream and what a test does with it. Declared before what is executed on it: streams outlive plans and topologies.
class UserStream {
 public:
  /// Blocking unless `flags` say otherwise: it waits for the legacy stream, and that for it.
  explicit UserStream(const device::cuda::Driver& driver, unsigned flags = 0) : driver_(driver) {
    driver_.require("make a stream", driver_.cuStreamCreate, &stream_, flags);
  }
  ~UserStream() {
    if (exec_ != nullptr) driver_.cuGraphExecDestroy(exec_);
    driver_.cuStreamDestroy_v2(stream_);
  }
  UserStream(const UserStream&) = delete;
  UserStream& operator=(const UserStream&) = delete;

  Stream get() const { return stream_; }
  void begin_capture() {
    driver_.require("begin capture", driver_.cuStreamBeginCapture_v2, stream_, device::cuda::CaptureMode::global);
  }
  void end_capture() {
    device::cuda::GraphHandle graph = nullptr;
    driver_.require("end capture", driver_.cuStreamEndCapture, stream_, &graph);
    if (exec_ != nullptr) driver_.cuGraphExecDestroy(exec_);
    driver_.require("instantiate", driver_.cuGraphInstantiateWithFlags, &exec_, graph, 0ULL);
    driver_.cuGraphDestroy(graph);
  }
  void replay() { driver_.require("replay", driver_.cuGraphLaunch, exec_, stream_); }
  void synchronize() { driver_.require("synchronize", driver_.cuStreamSynchronize, stream_); }

 private:
  const device::cuda::Driver& driver_;
  Stream stream_ = nullptr;
  device::cuda::GraphExecHandle exec_ = nullptr;
};

/// Runs `body(name, primary)` on each GPU with its primary context current, as in a user's thread.
template <class Test>
void on_every_gpu(Test&& body) {
  for (const std::string& name : device_names()) {
    if (name == "emulator") continue;
    CAPTURE(name);
    const auto driver = device::cuda::open_driver();
    const auto primary = std::make_shared<const device::cuda::CudaContext>(driver, std::stoi(name.substr(5)), nullptr);
    const device::cuda::ContextScope scope(*primary);
    body(name, *primary);
  }
  if (gpu_names().empty()) MESSAGE("skipped: there is no GPU here");
}

}  // namespace vostok::test
