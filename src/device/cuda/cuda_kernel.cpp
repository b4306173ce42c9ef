#include "device/cuda/cuda_kernel.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace vostok::device::cuda {

namespace {

/// Buffers for the messages of the driver's PTX compiler.
struct JitLog {
  std::array<char, 4096> text{};
  std::array<JitOption, 2> options = {JitOption::error_log_buffer, JitOption::error_log_bytes};
  std::array<void*, 2> values = {text.data(), reinterpret_cast<void*>(text.size())};
  std::string suffix() const { return text[0] == '\0' ? std::string() : fmt::format("; {}", text.data()); }
};

bool has_libraries(const Driver& driver) {
  return driver.cuLibraryLoadData && driver.cuLibraryGetKernel && driver.cuLibraryUnload && driver.cuKernelGetFunction;
}

[[noreturn]] void fail_load(const Driver& driver, const Image& image, const char* call, Result result,
                            const JitLog& log) {
  const ErrorCode code = result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device_failure;
  fail(code, "cannot load a kernel image of {} bytes for {}: {} failed with {}{}", image.binary.size(), image.symbol,
       call, driver.describe(result), log.suffix());
}

}  // namespace

CudaKernel::CudaKernel(std::shared_ptr<const CudaContext> context, const Image& image, std::int64_t shared_bytes)
    : context_(std::move(context)) {
  const LibraryScope scope(*context_);
  try {
    if (has_libraries(context_->driver())) {
      load_library(image);
    } else {
      load_module(image);
    }
    prepare(image, shared_bytes);
  } catch (...) {
    unload();
    throw;
  }
}

CudaKernel::~CudaKernel() {
  attempt(*context_, [&] { unload(); });
}

void CudaKernel::load_library(const Image& image) {
  const Driver& driver = context_->driver();
  JitLog log;
  const Result result = driver.cuLibraryLoadData(&library_, image.binary.c_str(), log.options.data(), log.values.data(),
                                                 static_cast<unsigned>(log.options.size()), nullptr, nullptr, 0U);
  if (result != Result::success) fail_load(driver, image, driver.cuLibraryLoadData.name, result, log);
  KernelHandle kernel = nullptr;
  driver.require("find the kernel in its image", driver.cuLibraryGetKernel, &kernel, library_, image.symbol.c_str());
  driver.require("load the kernel into the context", driver.cuKernelGetFunction, &function_, kernel);
}

void CudaKernel::load_module(const Image& image) {
  const Driver& driver = context_->driver();
  JitLog log;
  const Result result = driver.cuModuleLoadDataEx(
      &module_, image.binary.c_str(), static_cast<unsigned>(log.options.size()), log.options.data(), log.values.data());
  if (result != Result::success) fail_load(driver, image, driver.cuModuleLoadDataEx.name, result, log);
  driver.require("find the kernel in its image", driver.cuModuleGetFunction, &function_, module_, image.symbol.c_str());
}

void CudaKernel::prepare(const Image& image, std::int64_t shared_bytes) {
  const Driver& driver = context_->driver();
  // With lazy loading, the default since CUDA 12, a handle does not mean that the code is on the device.
  if (driver.cuFuncLoad) driver.require("load the kernel's code", driver.cuFuncLoad, function_);
  const Result raised =
      driver.cuFuncSetAttribute(function_, FunctionAttribute::max_dynamic_shared_bytes, static_cast<int>(shared_bytes));
  if (raised != Result::success) {
    driver.fail_call(fmt::format("give {} {} bytes of shared memory", image.symbol, shared_bytes),
                     driver.cuFuncSetAttribute.name, raised);
  }
  std::size_t offset = 0;
  if (driver.cuFuncGetParamInfo &&
      driver.cuFuncGetParamInfo(function_, 0, &offset, &argument_bytes_) != Result::success)
    argument_bytes_ = 0;
}

void CudaKernel::unload() noexcept {
  if (library_ != nullptr) context_->driver().cuLibraryUnload(library_);
  if (module_ != nullptr) context_->driver().cuModuleUnload(module_);
  library_ = nullptr;
  module_ = nullptr;
}

}  // namespace vostok::device::cuda
