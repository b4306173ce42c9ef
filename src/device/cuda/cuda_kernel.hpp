// A kernel loaded in a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/cuda/cuda_context.hpp"

namespace vostok::device::cuda {

class CudaKernel : public Kernel {
 public:
  /// Loads eagerly: as a library (which belongs to no context) if the driver has those, else as a module. Errors:
  /// device_failure with the driver's text if it refuses the image, out_of_memory.
  CudaKernel(std::shared_ptr<const CudaContext> context, const Image& image, std::int64_t shared_bytes);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  FunctionHandle function() const { return function_; }
  /// Whether the kernel's one parameter has this size; true if the driver cannot tell.
  bool takes(std::size_t argument_bytes) const { return argument_bytes_ == argument_bytes || argument_bytes_ == 0; }
  std::size_t argument_bytes() const { return argument_bytes_; }

 private:
  void load_library(const Image& image);
  void load_module(const Image& image);
  void prepare(const Image& image, std::int64_t shared_bytes);
  void unload() noexcept;

  std::shared_ptr<const CudaContext> context_;
  LibraryHandle library_ = nullptr;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
  std::size_t argument_bytes_ = 0;
};

}  // namespace vostok::device::cuda
