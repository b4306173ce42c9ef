#include "cli/environment_variables.hpp"

#include "base/environment.hpp"

namespace vostok::cli {

std::vector<EnvironmentVariable> environment_variables() {
  std::vector<EnvironmentVariable> variables = {
      {.name = "VOSTOK_CACHE_DIR", .meaning = "folder of tuning.db and code.db"},
      {.name = "XDG_CACHE_HOME", .meaning = "without VOSTOK_CACHE_DIR: the caches are in its subfolder vostok"},
      {.name = "HOME",
       .meaning = "without the two above: the caches are in .cache/vostok; also searched for NVRTC wheels"},
      {.name = "VOSTOK_READ_ONLY_CACHE",
       .meaning = "further cache files, or folders of them, read after the user's own; separated by colons"},
      {.name = "VOSTOK_CAPTURE", .meaning = "problem file that every problem is appended to which a program plans"},
      {.name = "VOSTOK_TOOL", .meaning = "the tool that programs start as the tuner's worker process"},
      {.name = "PATH",
       .meaning =
           "without VOSTOK_TOOL, and where the program is not the tool: its absolute folders are searched for vostok"},
      {.name = "VOSTOK_TUNE_WORKER",
       .meaning = "set by the tuner in its worker processes, which start none themselves"},
      {.name = "VOSTOK_LIBCUDA", .meaning = "the driver library to open instead of libcuda.so.1"},
      {.name = "VOSTOK_LIBNVML", .meaning = "the library that tells clocks instead of libnvidia-ml.so.1"},
      {.name = "VOSTOK_NVRTC", .meaning = "libnvrtc to use, or the folder that holds it; nothing else is searched"},
      {.name = "CUDA_HOME", .meaning = "CUDA toolkit searched for NVRTC"},
      {.name = "CUDA_PATH", .meaning = "CUDA toolkit searched for NVRTC, after CUDA_HOME"},
      {.name = "VIRTUAL_ENV", .meaning = "Python environment searched for NVRTC wheels"},
      {.name = "CONDA_PREFIX", .meaning = "Python environment searched for NVRTC wheels, after VIRTUAL_ENV"},
      {.name = "VOSTOK_CXX", .meaning = "the emulator's compiler"},
      {.name = "CXX", .meaning = "the emulator's compiler where VOSTOK_CXX is not set; without both, c++"},
      {.name = "VOSTOK_CXX_TIMEOUT",
       .meaning = "seconds after which the emulator's compiler is killed; without it 300"},
      {.name = "VOSTOK_EMULATOR_ORDER",
       .meaning = "order of the emulator's threads and blocks: forward, reverse or a seed"},
      {.name = "VOSTOK_EMULATOR_GUARD", .meaning = "side of the emulator's allocations that is guarded: end or start"},
  };
  for (EnvironmentVariable& variable : variables) variable.value = environment(variable.name);
  return variables;
}

}  // namespace vostok::cli
