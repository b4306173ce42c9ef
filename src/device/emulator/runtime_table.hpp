// The functions that kernels call back into.
#pragma once

#include "device/emulator/shim/runtime.h"

namespace vostok::device::emulator {

const vostok_emulator::Runtime& runtime_table();

}  // namespace vostok::device::emulator
