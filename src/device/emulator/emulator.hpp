// The emulator: a Device on the host's cores. It compiles the same template text with the host compiler and runs each
// CUDA thread as a fiber. For correctness, not for speed.
//
// A test runs a kernel like this:
//
//   auto device = open_emulator({}, {.order = {.kind = Order::Kind::reverse}});   // or
//   vostok::device::open_emulator({}) Source source{.family = "twice", .text = "struct Args { float* x; };\n"
//                 "template <int factor> __global__ void scale(const __grid_constant__ Args args) { args.x[threadIdx.x]
//                 *= factor; }", .expression = "scale<2>", .headers = {}, .architecture = {}};
//   auto kernel = device->load(device->compiler().compile(source), 0);
//   device->launch(nullptr, *kernel, {.grid = {1}, .block = {32}}, &args, sizeof args);   // has run when it returns
//
// Operands are host memory: from `allocate` (guarded, starts as NaN) or any other. Errors of the kernel are
// Error(device_failure) from `launch`; an access past a guard page or a misaligned vector access ends the process by a
// signal, as it ends a CUDA context. Templates reach shared memory through parts/shared.h and nothing else; there is no
// `__shared__`. They ask `#ifdef VOSTOK_EMULATOR` where a GPU needs PTX. __CUDA_ARCH__ is not defined.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "device/emulator/settings.hpp"

namespace vostok::device::emulator {

std::shared_ptr<Device> open_emulator(const OpenOptions& options, const Settings& settings);

}  // namespace vostok::device::emulator
