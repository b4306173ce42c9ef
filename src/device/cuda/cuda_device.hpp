// device::Device over the CUDA driver API.
#pragma once

#include <memory>
#include <mutex>

#include "device/cuda/clock_monitor.hpp"
#include "device/cuda/cuda_context.hpp"
#include "device/cuda/cuda_graph.hpp"
#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/device_properties.hpp"
#include "device/cuda/nvrtc_compiler.hpp"

namespace vostok::device::cuda {

class CudaDevice : public Device {
 public:
  CudaDevice(std::shared_ptr<const Driver> driver, int ordinal, const OpenOptions& options);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const override { return properties_.info; }
  int max_shared_bytes() const override { return properties_.max_shared_bytes; }
  int shared_bytes_per_multiprocessor() const override { return properties_.shared_bytes_per_multiprocessor; }
  int registers_per_multiprocessor() const override { return properties_.registers_per_multiprocessor; }
  int threads_per_multiprocessor() const override { return properties_.threads_per_multiprocessor; }

  const Compiler& compiler() const override { return compiler_; }
  std::shared_ptr<const Kernel> load(const Image& image, std::int64_t shared_bytes) override;
  void launch(Stream stream, const Kernel& kernel, const LaunchShape& shape, const void* arguments,
              std::size_t argument_bytes) const override;
  bool has_tensor_maps() const override;
  void make_map(TensorMap& map) const override;
  void fill(Stream stream, void* memory, int value, std::int64_t bytes) const override;

  void* allocate(std::int64_t bytes) override {
    require_here("allocate", "device memory");
    return memory_->allocate(bytes);
  }
  void release_behind(void* memory, const std::vector<Stream>& streams) noexcept override {
    if (is_here()) memory_->release_behind(memory, streams);
  }

  /// `after` = nullptr waits for nothing: the library touches the legacy stream only if its handle is passed.
  void copy_to_device(void* destination, const void* source, std::int64_t bytes, Stream after) override;
  void copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream after) override;

  bool is_device_pointer(const void* pointer) const override;
  bool is_capturing(Stream stream) const override;
  void synchronize(Stream stream) const override;
  void wait_for(Stream after) const override;
  Stream own_stream() const override { return own_stream_->get(); }

  int occupancy(const Kernel& kernel, int threads, std::int64_t shared_bytes) const override;
  std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>& enqueue) override;
  std::optional<Clocks> clocks() const override;

 private:
  const Driver& driver() const { return context_->driver(); }
  void queue_wait(Stream after) const;
  void record_behind(Stream after, const OwnedEvent& event) const;

  std::shared_ptr<const CudaContext> context_;
  DeviceProperties properties_;
  NvrtcCompiler compiler_;
  std::unique_ptr<OwnedStream> own_stream_;
  std::unique_ptr<RecordingStream> recording_;
  std::unique_ptr<CudaMemory> memory_;
  mutable std::once_flag clocks_opened_;
  mutable std::unique_ptr<ClockMonitor> clock_monitor_;
};

}  // namespace vostok::device::cuda
