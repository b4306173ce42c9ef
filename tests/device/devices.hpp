// The devices that the tests run on: the emulator always, and every GPU that is there.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <vostok/vostok.hpp>

#include "bench/models/floats.hpp"
#include "context_state.hpp"
#include "device/device.hpp"
#include "device/gpus.hpp"
#include "error_code.hpp"
#include "sparse/csr.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

/// "emulator", "cuda:0", ...; says once why there is no GPU.
inline const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = gpu_names();
    if (tests_emulator()) list.insert(list.begin(), "emulator");
    return list;
  }();
  return names;
}

/// A context without a cache on disk.
inline Options memory_options(const std::string& device) {
  return {.device = device,
          .cache = {.enabled = false},
          .log = [](LogLevel, std::string_view) {},
          .worker = {.first_run = FirstRun::this_process}};
}
inline Context memory_context(const std::string& device) { return Context(memory_options(device)); }

/// body(context) on each of them.
template <class Test>
void on_every_device(Test&& body) {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    body(memory_context(name));
  }
}

inline device::Device& device_of(const Context& context) { return context.state()->session->device(); }

/// What a case's verify is to run of a recorded sequence. That has a stream of its own: the poison that the case queued
/// must lie there first.
inline auto replaying(device::Device& device, device::TimedSequence& recorded) {
  return [&device, &recorded](Stream stream) {
    device.synchronize(stream);
    recorded.replay_us();
  };
}

using models::Floats;

}  // namespace vostok::test
