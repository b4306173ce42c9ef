#include "bench/peers/library.hpp"

#include <filesystem>

#include "base/environment.hpp"
#include "device/cuda/nvrtc_places.hpp"

namespace vostok::bench {

namespace {

using device::cuda::SharedObject;

/// Folders that hold a toolkit's libraries, as patterns.
std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto root = environment(variable)) folders.push_back(device::cuda::literal_pattern(*root) + "/lib64");
  for (const char* pattern : {"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib"})
    folders.emplace_back(pattern);
  return folders;
}

}  // namespace

SharedObject open_peer_library(const std::vector<std::string>& names, const std::string& companion) {
  std::string tried;
  const auto attempt = [&](const std::string& name) {
    std::string error;
    SharedObject object = SharedObject::open(name, &error);
    if (!object) tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name, error);
    return object;
  };
  for (const std::string& name : names)
    if (SharedObject object = attempt(name)) return object;
  for (const std::string& folder : toolkit_folders()) {
    for (const std::string& name : names) {
      for (const std::filesystem::path& file : device::cuda::matching_files(folder + "/" + name)) {
        // The loader would look for the companion in its own places: one that is loaded already is taken instead.
        for (const std::filesystem::path& beside : device::cuda::matching_files(
                 device::cuda::literal_pattern(file.parent_path().string()) + "/" + companion)) {
          std::string ignored;
          SharedObject::open(beside.string(), &ignored);
        }
        if (SharedObject object = attempt(file.string())) return object;
      }
    }
  }
  fail(ErrorCode::no_device, "cannot open {}: {}", names.front(), tried);
}

}  // namespace vostok::bench
