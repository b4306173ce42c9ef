// Where NVRTC may lie. Only the file system and the environment are looked at; nothing is loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vostok::device::cuda {

/// One place to look at: a glob pattern for files, or a plain name for the loader.
struct NvrtcPlace {
  std::string pattern;
  bool loader_name = false;
  bool must_be_ours = false;  ///< a folder found by the working directory: its owner is checked before code is loaded from it
};

/// In the order they are tried: `chosen` alone if given, else VOSTOK_NVRTC alone if set, else CUDA_HOME, CUDA_PATH, the
/// toolkits under /usr/local, the `.wheels` folders beside the working directory and the executable, the usual
/// site-packages, and the loader's names. A chosen path is a file or a folder; nothing else is tried if it does not work.
std::vector<NvrtcPlace> nvrtc_places(const std::optional<std::filesystem::path>& chosen);

/// The files that match, newest version first; links to one file count once.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

/// `text` as a pattern that matches only itself.
std::string literal_pattern(const std::string& text);

/// Why code from `file` must not be loaded (its folder belongs to another user, or others can write to it); empty if it may.
std::string foreign_owner(const std::filesystem::path& file);

}  // namespace vostok::device::cuda
