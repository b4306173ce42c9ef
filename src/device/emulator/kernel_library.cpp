#include "device/emulator/kernel_library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include "base/text.hpp"
#include "device/emulator/runtime_table.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

namespace {

/// A path that no other loaded library has, since the loader takes equal paths for equal libraries. A descriptor's
/// number is soon reused, but a file's own number only after it is unloaded. So that number is encoded in the path, by
/// elements that a path may repeat: "/" is a 0 and "./" a 1.
std::string unique_path(const MemoryFile& file) {
  struct stat status{};
  if (fstat(file.descriptor(), &status) != 0) fail(ErrorCode::io_failure, "cannot read the number of a file in memory");
  std::string path = file.path();
  std::string marks;
  for (auto rest = static_cast<std::uint64_t>(status.st_ino); rest != 0; rest /= 2) marks += rest % 2 != 0 ? "./" : "/";
  return path.insert(path.rfind('/') + 1, marks);
}

/// AddressSanitizer never forgets the globals of a library, and reads their descriptions when it reports.
constexpr int stay_loaded = sanitizer::address ? RTLD_NODELETE : 0;

void* open_library(const MemoryFile& file, const std::string& name) {
  const std::string path = unique_path(file);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | stay_loaded);
  if (handle != nullptr) return handle;
  std::string reason = dlerror();
  if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
  fail(ErrorCode::device_failure, "cannot load kernel {}: {}", name, reason);
}

}  // namespace

KernelLibrary::KernelLibrary(const Image& image, std::int64_t shared_bytes)
    : name_(image.symbol),
      shared_bytes_(shared_bytes),
      file_(std::in_place, "vostok-kernel", image.binary),
      handle_(open_library(*file_, name_), dlclose) {
  if (!sanitizer::address && !sanitizer::thread) file_.reset();
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
