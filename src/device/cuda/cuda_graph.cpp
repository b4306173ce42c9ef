#include "device/cuda/cuda_graph.hpp"

#include <exception>
#include <utility>

namespace vostok::device::cuda {

namespace {

/// The graph of what `enqueue` queues. Ends the capture on every path.
GraphHandle capture(const Driver& driver, RecordingStream& recording, const std::function<void(Stream)>& enqueue) {
  const std::lock_guard lock(recording.mutex);
  const StreamHandle stream = recording.stream.get();
  driver.require("begin recording", driver.cuStreamBeginCapture_v2, stream, CaptureMode::relaxed);
  std::exception_ptr thrown;
  try {
    enqueue(stream);
  } catch (...) {
    thrown = std::current_exception();
  }
  GraphHandle graph = nullptr;
  const Result result = driver.cuStreamEndCapture(stream, &graph);
  if (thrown) {
    if (graph != nullptr) driver.cuGraphDestroy(graph);
    std::rethrow_exception(thrown);
  }
  if (result != Result::success) driver.fail_call("end recording", driver.cuStreamEndCapture.name, result);
  return graph;
}

}  // namespace

struct CudaSequence::Parts {
  explicit Parts(const CudaContext& owner)
      : context(owner), stream(owner), start(owner, event_default), end(owner, event_default) {}
  ~Parts() {
    if (exec != nullptr) context.driver().cuGraphExecDestroy(exec);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const CudaContext& context;
  OwnedStream stream;
  OwnedEvent start;
  OwnedEvent end;
  GraphExecHandle exec = nullptr;
};

CudaSequence::CudaSequence(std::shared_ptr<const CudaContext> context, RecordingStream& recording,
                           const std::function<void(Stream)>& enqueue)
    : context_(std::move(context)) {
  const LibraryScope scope(*context_);
  const Driver& driver = context_->driver();
  auto parts = std::make_unique<Parts>(*context_);
  GraphHandle graph = capture(driver, recording, enqueue);
  const Result result = driver.cuGraphInstantiateWithFlags(&parts->exec, graph, 0);
  driver.cuGraphDestroy(graph);
  if (result != Result::success)
    driver.fail_call("instantiate the recorded graph", driver.cuGraphInstantiateWithFlags.name, result);
  driver.require("upload the recorded graph", driver.cuGraphUpload, parts->exec, parts->stream.get());
  parts_ = std::move(parts);
}

CudaSequence::~CudaSequence() {
  attempt(*context_, [&] { parts_.reset(); });
}

double CudaSequence::replay_us() {
  const LibraryScope scope(*context_);
  const Driver& driver = context_->driver();
  const StreamHandle stream = parts_->stream.get();
  driver.require("record the start of a replay", driver.cuEventRecord, parts_->start.get(), stream);
  driver.require("replay the recorded graph", driver.cuGraphLaunch, parts_->exec, stream);
  driver.require("record the end of a replay", driver.cuEventRecord, parts_->end.get(), stream);
  driver.require("wait for the end of a replay", driver.cuEventSynchronize, parts_->end.get());
  float milliseconds = 0;
  driver.require("time a replay", driver.cuEventElapsedTime, &milliseconds, parts_->start.get(), parts_->end.get());
  return static_cast<double>(milliseconds) * 1000.0;
}

}  // namespace vostok::device::cuda
