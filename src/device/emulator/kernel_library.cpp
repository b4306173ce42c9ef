#include "device/emulator/kernel_library.hpp"

#include <dlfcn.h>

#include "base/text.hpp"
#include "device/emulator/runtime_table.hpp"

namespace vostok::device::emulator {

KernelLibrary::KernelLibrary(const Image& image, std::int64_t shared_bytes)
    : name_(image.symbol),
      shared_bytes_(shared_bytes),
      file_("vostok-kernel", image.binary),
      handle_(dlopen(file_.path().c_str(), RTLD_NOW | RTLD_LOCAL), dlclose) {
  if (!handle_) fail(ErrorCode::device_failure, "cannot load kernel {}: {}", name_, dlerror());
  slot_ = reinterpret_cast<vostok_emulator::SlotFunction*>(find("vostok_slot"));
  run_ = reinterpret_cast<vostok_emulator::KernelFunction*>(find("vostok_kernel"));
  auto* const bind = reinterpret_cast<vostok_emulator::BindFunction*>(find("vostok_bind"));
  argument_bytes_ = bind(&runtime_table());
}

KernelLibrary::~KernelLibrary() = default;

void* KernelLibrary::find(const char* symbol) const {
  void* address = dlsym(handle_.get(), symbol);
  if (address == nullptr) fail(ErrorCode::device_failure, "cannot load kernel {}: {}", name_, dlerror());
  return address;
}

}  // namespace vostok::device::emulator
