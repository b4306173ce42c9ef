// A generated kernel, loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "device/emulator/memory_file.hpp"
#include "device/emulator/shim/runtime.h"

namespace vostok::device::emulator {

class KernelLibrary final : public Kernel {
 public:
  /// Errors: device_failure with the loader's text.
  KernelLibrary(const Image& image, std::int64_t shared_bytes);
  ~KernelLibrary() override;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  const std::string& name() const { return name_; }
  std::int64_t most_shared_bytes() const { return shared_bytes_; }
  std::size_t argument_bytes() const { return argument_bytes_; }
  vostok_emulator::SlotFunction* slot() const { return slot_; }
  vostok_emulator::KernelFunction* run() const { return run_; }

 private:
  void* find(const char* symbol) const;

  std::string name_;
  std::int64_t shared_bytes_;
  std::optional<MemoryFile> file_;  ///< kept open for sanitizers, whose reports read it
  std::unique_ptr<void, int (*)(void*)> handle_;
  std::size_t argument_bytes_ = 0;
  vostok_emulator::SlotFunction* slot_ = nullptr;
  vostok_emulator::KernelFunction* run_ = nullptr;
};

}  // namespace vostok::device::emulator
