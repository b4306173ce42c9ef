// libnvrtc: found, loaded together with its builtins, and asked what it knows.
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
  /// Those that this version knows of the options that change how it works and not the code.
  const std::vector<std::string>& process_options() const { return process_options_; }

 private:
  friend struct NvrtcSearch;
  std::string probe();  ///< asks all of the above; empty, or why this library cannot be used

  std::string path_;
  std::string build_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<int> architectures_;
  std::vector<std::string> process_options_;
};

/// What the search found: `nvrtc` is empty where none is usable, and `findings` name every place looked at.
struct NvrtcSearch {
  std::shared_ptr<const Nvrtc> nvrtc;
  std::vector<Finding> findings;

  /// In the order of the places.
  static NvrtcSearch run(const std::vector<NvrtcPlace>& places);

 private:
  /// A file that a place's pattern matches: refused, or opened by the path that it resolves to.
  bool try_file(const std::filesystem::path& file, bool named);
  bool try_open(const std::string& name);
  bool use(const SharedObject& object, Finding& finding);
  /// False where one that lies beside the library is not to be loaded.
  bool open_builtins(const std::filesystem::path& library, bool named);
  void refuse(const std::filesystem::path& file, const std::string& doubt);
};

/// Errors: no_compiler naming every path searched.
std::shared_ptr<const Nvrtc> open_nvrtc_library(const std::optional<std::filesystem::path>& chosen);

}  // namespace vostok::device::cuda
