#include "device/cuda/cuda_device.hpp"

#include <array>

#include "base/text.hpp"
#include "device/cuda/cuda_kernel.hpp"
#include "device/cuda/tensor_map.hpp"

namespace vostok::device::cuda {

namespace {

constexpr int hopper = 90;  // the first with programmatic dependent launch, and with tensor maps

DevicePointer address(const void* memory) { return reinterpret_cast<DevicePointer>(memory); }

/// The attributes of a launch besides its sizes.
struct LaunchAttributes {
  std::array<LaunchAttribute, 2> list = {};
  unsigned count = 0;

  void add_overlap() {
    list[count].id = LaunchAttributeId::programmatic_stream_serialization;
    list[count++].value.programmatic_stream_serialization_allowed = 1;
  }
  void add_cluster(unsigned blocks) {
    list[count].id = LaunchAttributeId::cluster_dimension;
    list[count++].value.cluster_dimension = {1, blocks, 1};
  }
};

[[noreturn]] void fail_barred() {
  fail(ErrorCode::capture_active,
       "cannot wait for the legacy stream: a blocking stream is being captured, and the driver lets nobody use the "
       "legacy stream meanwhile; "
       "wait for the end of the capture, or pass nullptr where the operands are complete");
}

const CudaKernel& cuda_kernel(const Kernel& kernel) { return static_cast<const CudaKernel&>(kernel); }

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<const Driver> driver, int ordinal, const OpenOptions& options)
    : context_(std::make_shared<const CudaContext>(std::move(driver), ordinal, options.cuda_context)),
      properties_(read_properties(context_->driver(), context_->device())),
      compiler_(options.nvrtc) {
  if (properties_.capability < oldest_capability) {
    fail(ErrorCode::no_device, "cannot use {}: its architecture {} is older than sm_{}", properties_.info.name,
         properties_.info.architecture, oldest_capability);
  }
  const LibraryScope scope(*context_);
  own_stream_ = std::make_unique<OwnedStream>(*context_);
  recording_ = std::make_unique<RecordingStream>(*context_);
  memory_ = std::make_unique<CudaMemory>(context_, options.allocator, properties_);
}

CudaDevice::~CudaDevice() {
  memory_.reset();
  attempt(*context_, [&] {
    recording_.reset();
    own_stream_.reset();
  });
}

std::shared_ptr<const Kernel> CudaDevice::load(const Image& image, std::int64_t shared_bytes) {
  require_here("load kernel", image.symbol);
  return make_shared_here<const CudaKernel>(context_, image, shared_bytes);
}

void CudaDevice::launch(Stream stream, const Kernel& kernel, const LaunchShape& shape, const void* arguments,
                        std::size_t argument_bytes) const {
  require_here("launch", "a kernel");
  const CudaKernel& loaded = cuda_kernel(kernel);
  if (!loaded.takes(argument_bytes)) [[unlikely]] {
    fail(ErrorCode::internal, "cannot launch kernel: its parameter has {} bytes, {} were given",
         loaded.argument_bytes(), argument_bytes);
  }
  const ContextScope scope(*context_);
  LaunchAttributes attributes;
  if (shape.waits_for_previous && properties_.capability >= hopper) attributes.add_overlap();
  if (shape.cluster > 1) attributes.add_cluster(shape.cluster);
  const LaunchConfig config{.grid_x = shape.grid.x,
                            .grid_y = shape.grid.y,
                            .grid_z = shape.grid.z,
                            .block_x = shape.block.x,
                            .block_y = shape.block.y,
                            .block_z = shape.block.z,
                            .shared_bytes = static_cast<unsigned>(shape.shared_bytes),
                            .stream = stream,
                            .attributes = attributes.list.data(),
                            .attribute_count = attributes.count};
  void* parameters[] = {const_cast<void*>(arguments)};  // NOLINT: the driver only reads it
  driver().require("launch kernel", driver().cuLaunchKernelEx, &config, loaded.function(), parameters, nullptr);
}

bool CudaDevice::has_tensor_maps() const { return properties_.capability >= hopper && driver().cuTensorMapEncodeTiled; }

void CudaDevice::make_map(TensorMap& map) const {
  const ContextScope scope(*context_);
  encode_tensor_map(driver(), map);
}

void CudaDevice::fill(Stream stream, void* memory, int value, std::int64_t bytes) const {
  if (bytes == 0) return;
  const ContextScope scope(*context_);
  driver().require("fill device memory", driver().cuMemsetD8Async, address(memory), static_cast<unsigned char>(value),
                   static_cast<std::size_t>(bytes), stream);
}

/// Makes the library's own stream wait for the work queued so far on `after`. A captured stream has queued nothing.
void CudaDevice::queue_wait(Stream after) const {
  if (after == nullptr) return;
  const StreamCapture capture = capture_of(driver(), after);
  if (capture == StreamCapture::own) return;
  if (capture == StreamCapture::barred) fail_barred();
  const OwnedEvent event(*context_, event_disable_timing);
  record_behind(after, event);
  driver().require("wait for the given stream", driver().cuStreamWaitEvent, own_stream(), event.get(), 0U);
}

void CudaDevice::record_behind(Stream after, const OwnedEvent& event) const {
  const Result result = driver().cuEventRecord(event.get(), after);
  if (result == Result::capture_implicit) fail_barred();  // the capture began after the stream was asked
  if (result != Result::success)
    driver().fail_call("record an event on the given stream", driver().cuEventRecord.name, result);
}

void CudaDevice::wait_for(Stream after) const {
  const LibraryScope scope(*context_);
  queue_wait(after);
}

void CudaDevice::copy_to_device(void* destination, const void* source, std::int64_t bytes, Stream after) {
  if (bytes == 0) return;
  const LibraryScope scope(*context_);
  queue_wait(after);
  driver().require("copy to the device", driver().cuMemcpyHtoDAsync_v2, address(destination), source,
                   static_cast<std::size_t>(bytes), own_stream());
  driver().require("copy to the device", driver().cuStreamSynchronize, own_stream());
}

void CudaDevice::copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream after) {
  if (bytes == 0) return;
  const LibraryScope scope(*context_);
  queue_wait(after);
  driver().require("copy to the host", driver().cuMemcpyDtoHAsync_v2, destination, address(source),
                   static_cast<std::size_t>(bytes), own_stream());
  driver().require("copy to the host", driver().cuStreamSynchronize, own_stream());
}

bool CudaDevice::is_device_pointer(const void* pointer) const {
  if (pointer == nullptr) return false;
  const LibraryScope scope(*context_);
  MemoryType type{};
  const Result result = driver().cuPointerGetAttribute(&type, PointerAttribute::memory_type, address(pointer));
  if (result == Result::invalid_value) return false;  // the driver does not know it: plain host memory
  if (result != Result::success)
    driver().fail_call("ask where a pointer points", driver().cuPointerGetAttribute.name, result);
  return type == MemoryType::device;
}

bool CudaDevice::is_capturing(Stream stream) const {
  const ContextScope scope(*context_);
  return capture_of(driver(), stream) == StreamCapture::own;
}

void CudaDevice::synchronize(Stream stream) const {
  const LibraryScope scope(*context_);
  driver().require("wait for the stream", driver().cuStreamSynchronize, stream);
}

int CudaDevice::occupancy(const Kernel& kernel, int threads, std::int64_t shared_bytes) const {
  const LibraryScope scope(*context_);
  int blocks = 0;
  driver().require("compute the kernel's occupancy", driver().cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                   cuda_kernel(kernel).function(), threads, static_cast<std::size_t>(shared_bytes));
  return blocks;
}

std::unique_ptr<TimedSequence> CudaDevice::record(const std::function<void(Stream)>& enqueue) {
  return std::make_unique<CudaSequence>(context_, *recording_, enqueue);
}

std::optional<Clocks> CudaDevice::clocks() const {
  std::call_once(clocks_opened_, [&] {
    Finding ignored;
    clock_monitor_ = ClockMonitor::open(properties_.pci_bus_id, ignored);
  });
  return clock_monitor_ ? clock_monitor_->read() : std::nullopt;
}

}  // namespace vostok::device::cuda
