// libnvrtc: found, loaded together with its builtins, and queried for its capabilities.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/nvrtc_api.hpp"
#include "device/cuda/nvrtc_places.hpp"
#include "device/cuda/shared_object.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

/// Options every compile gets and that decide the code.
const std::vector<std::string>& nvrtc_code_options();

/// A loaded NVRTC that has compiled an empty kernel. Immutable and thread-safe.
class Nvrtc : public NvrtcApi {
 public:
  std::string identity() const;  ///< "nvrtc 13.0.88"
  const std::string& path() const { return path_; }
  const std::vector<int>& architectures() const { return architectures_; }  ///< 75, 80, ... ascending
  /// The options that this version knows among those that change how it works but not the code.
  const std::vector<std::string>& process_options() const { return process_options_; }

 private:
  friend struct NvrtcSearch;
  std::string probe();  ///< queries all of the above; returns why this library cannot be used, or nothing

  std::string path_;
  std::string build_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<int> architectures_;
  std::vector<std::string> process_options_;
};

/// Result of the search: `nvrtc` is empty if none is usable, and `findings` name every place searched.
struct NvrtcSearch {
  std::shared_ptr<const Nvrtc> nvrtc;
  std::vector<Finding> findings;

  /// Tries the places in order.
  static NvrtcSearch run(const std::vector<NvrtcPlace>& places);

 private:
  /// Tries a file that matches a place's pattern: refuses it, or opens it by its resolved path.
  bool try_file(const std::filesystem::path& file, bool named);
  bool try_open(const std::string& name);
  bool use(const SharedObject& object, Finding& finding);
  /// False if a builtins library beside NVRTC must not be loaded.
  bool open_builtins(const std::filesystem::path& library, bool named);
  void refuse(const std::filesystem::path& file, const std::string& doubt);
};

/// Errors: no_compiler naming every path searched.
std::shared_ptr<const Nvrtc> open_nvrtc_library(const std::optional<std::filesystem::path>& chosen);

}  // namespace vostok::device::cuda
