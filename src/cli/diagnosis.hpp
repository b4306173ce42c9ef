// The findings of `vostok doctor` on a machine, as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "cache/cache.hpp"
#include "cli/environment_variables.hpp"
#include "device/device.hpp"

namespace vostok::cli {

struct Diagnosis {
  std::vector<device::Finding> findings = {};  ///< driver, GPUs, clocks, NVRTC: every place searched
  std::vector<DeviceInfo> gpus = {};           ///< GPUs that could be opened
  std::string emulator_compiler = {};          ///< its identity; empty: none
  std::string emulator_problem = {};           ///< why the emulator cannot compile
  cache::Location cache_location = {};
  std::vector<cache::LayerState> layers = {};
  std::vector<std::string> cache_warnings = {};
  std::vector<EnvironmentVariable> variables = {};

  bool has_nvrtc() const;
  bool runs_on_gpu() const { return !gpus.empty() && has_nvrtc(); }
  bool runs_on_emulator() const { return !emulator_compiler.empty(); }
  bool runs() const { return runs_on_gpu() || runs_on_emulator(); }
  /// One line: which devices work here.
  std::string verdict() const;
};

Diagnosis diagnose();

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace vostok::cli
