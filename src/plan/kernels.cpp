#include "plan/kernels.hpp"

#include <chrono>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace vostok::plan {

const std::string& CodeDigest::hex() const {
  std::call_once(once_, [this] {
    hex_ = digest_of(binary_);
    std::string().swap(binary_);  // its memory too
  });
  return hex_;
}

std::shared_ptr<const ReadyKernel> Kernels::get(const codegen::KernelRequest& request, std::int64_t shared_bytes,
                                                const std::function<void()>& compiling) {
  return loaded_.get(loaded_key(request, shared_bytes), [&] { return make(request, shared_bytes, compiling); });
}

bool Kernels::has(const codegen::KernelRequest& request, std::int64_t shared_bytes) const {
  if (loaded_.find(loaded_key(request, shared_bytes))) return true;
  const device::CodeTarget target = session_.device().code_target();
  return session_.code()
      .find(codegen::code_key(request, target.architecture, target.options, target.compiler))
      .has_value();
}

std::string Kernels::loaded_key(const codegen::KernelRequest& request, std::int64_t shared_bytes) {
  return fmt::format("{}|{}|{}", request.header, request.expression, shared_bytes);
}

ReadyKernel Kernels::make(const codegen::KernelRequest& request, std::int64_t shared_bytes,
                          const std::function<void()>& compiling) {
  const device::CodeTarget target = session_.device().code_target();
  const std::string key = codegen::code_key(request, target.architecture, target.options, target.compiler);
  if (auto stored = session_.code().find(key)) {
    try {
      ReadyKernel ready = load(*std::move(stored), shared_bytes);
      ++session_.counters().code_hits;
      return ready;
    } catch (const Error& error) {
      // Only a row that the driver refuses is dropped and compiled again, once; any other failure is the device's own.
      if (error.code() != ErrorCode::device_failure) throw;
      session_.code().drop(key);
      session_.logger().warning_once(fmt::format(
          "a stored {} kernel was refused by the driver and is compiled again: {}", request.family, error.what()));
    }
  }
  return load(compile_once(request, key, compiling), shared_bytes);
}

device::Image Kernels::compile_once(const codegen::KernelRequest& request, const std::string& key,
                                    const std::function<void()>& compiling) {
  const auto image = compiled_.get(key, [&] {
    if (auto stored = session_.code().find(key)) return *std::move(stored);
    if (compiling && session_.compile() != CompilePolicy::never) compiling();
    return compile(request, key);
  });
  compiled_.erase(key);  // it is in the store
  return *image;
}

device::Image Kernels::compile(const codegen::KernelRequest& request, const std::string& key) {
  if (session_.compile() == CompilePolicy::never)
    fail(ErrorCode::missing_kernel, "cannot load kernel {}: it is in no code layer, and Options::compile is never",
         request.expression);
  const device::Device& device = session_.device();
  const auto start = std::chrono::steady_clock::now();
  device::Image image = device.compiler().compile(codegen::make_source(request, device.architecture()));
  const auto spent = std::chrono::steady_clock::now() - start;
  session_.counters().compile_us += std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
  ++session_.counters().kernels_compiled;
  session_.code().put({.key = key,
                       .family = request.family,
                       .expression = request.expression,
                       .architecture = device.architecture(),
                       .compiler = device.compiler().identity()},
                      image);
  return image;
}

ReadyKernel Kernels::load(device::Image image, std::int64_t shared_bytes) {
  return {.kernel = session_.device().load(image, shared_bytes),
          .code = std::make_shared<const CodeDigest>(std::move(image.binary)),
          .registers = image.registers,
          .spill_bytes = image.spill_bytes,
          .warnings = std::move(image.warnings)};
}

}  // namespace vostok::plan
