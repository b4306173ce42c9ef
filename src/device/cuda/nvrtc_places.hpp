// Candidate places of NVRTC. Only the file system and the environment are read; nothing is loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace vostok::device::cuda {

/// One place to look at: a glob pattern for files, or a plain name for the loader.
struct NvrtcPlace {
  std::string pattern;
  bool loader_name = false;
  bool named =
      false;  ///< by the user, who answers for it; files found otherwise must be trusted (base/trusted_path.hpp)
};

/// In the order of the search: only `chosen` if given, else only VOSTOK_NVRTC if set, else CUDA_HOME, CUDA_PATH, the
/// toolkits under /usr/local, the usual site-packages, and the loader's names. A chosen path is a file or a folder; if
/// it does not work, nothing else is tried. With privileges raised no variable counts.
std::vector<NvrtcPlace> nvrtc_places(const std::optional<std::filesystem::path>& chosen,
                                     bool raised = privileges_are_raised());

/// The files that match, newest version first; links to one file count once.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

/// `text` as a pattern that matches only itself.
std::string literal_pattern(const std::string& text);

}  // namespace vostok::device::cuda
