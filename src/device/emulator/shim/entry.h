// The three functions that a kernel's library exports. VOSTOK_KERNEL is the specialisation.
#pragma once

#include "keywords.h"

namespace vostok_emulator {

template <class Arguments>
void call(void (*kernel)(Arguments), const void* arguments) {
  kernel(*static_cast<const Arguments*>(arguments));
}
template <class Arguments>
unsigned long long argument_bytes(void (*)(Arguments)) {
  return sizeof(Arguments);
}

}  // namespace vostok_emulator

extern "C" {
__attribute__((visibility("default"))) unsigned long long vostok_bind(const vostok_emulator::Runtime* table) {
  vostok_emulator::runtime = table;
  return vostok_emulator::argument_bytes(VOSTOK_KERNEL);
}
__attribute__((visibility("default"))) vostok_emulator::Thread** vostok_slot() { return &vostok_emulator::current; }
__attribute__((visibility("default"))) void vostok_kernel(const void* arguments) {
  vostok_emulator::call(VOSTOK_KERNEL, arguments);
}
}
