#include "device/cuda/nvrtc_places.hpp"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/environment.hpp"
#include "base/text.hpp"

namespace vostok::device::cuda {

namespace {

namespace fs = std::filesystem;

constexpr const char* file_pattern = "/libnvrtc.so*";
constexpr const char* wheel_pattern = "/nvidia/*/lib/libnvrtc.so*";

std::vector<NvrtcPlace> chosen_place(const fs::path& path) {
  std::error_code ignored;
  const std::string text = literal_pattern(path.string());
  return {{.pattern = fs::is_directory(path, ignored) ? text + file_pattern : text}};
}

void add_toolkit(std::vector<NvrtcPlace>& places, const std::string& root) {
  for (const char* folder : {"/lib64", "/lib", "/targets/*/lib"}) places.push_back({.pattern = root + folder + file_pattern});
}

/// The executable's folder and those above it: a build folder lies some levels below the checkout that `./run` fills.
std::vector<fs::path> folders_with_wheels() {
  constexpr int levels = 4;
  std::error_code error;
  std::vector<fs::path> folders;
  if (const fs::path current = fs::current_path(error); !error) folders.push_back(current);
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int level = 0; level < levels && !error && folder.has_relative_path(); ++level, folder = folder.parent_path()) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  }
  return folders;
}

void add_site_packages(std::vector<NvrtcPlace>& places) {
  const auto add = [&](const std::string& folder) { places.push_back({.pattern = folder + wheel_pattern}); };
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto root = environment(variable)) add(literal_pattern(*root) + "/lib/python3*/site-packages");
  }
  if (auto home = environment("HOME")) add(literal_pattern(*home) + "/.local/lib/python3*/site-packages");
  for (const char* folder : {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages",
                             "/usr/lib/python3*/dist-packages"}) {
    add(folder);
  }
}

}  // namespace

std::vector<NvrtcPlace> nvrtc_places(const std::optional<fs::path>& chosen) {
  if (chosen) return chosen_place(*chosen);
  if (auto path = environment("VOSTOK_NVRTC")) return chosen_place(*path);
  std::vector<NvrtcPlace> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto root = environment(variable)) add_toolkit(places, literal_pattern(*root));
  }
  add_toolkit(places, "/usr/local/cuda");
  add_toolkit(places, "/usr/local/cuda-*");
  for (const fs::path& folder : folders_with_wheels()) {
    places.push_back({.pattern = literal_pattern(folder.string()) + "/.wheels" + wheel_pattern, .must_be_ours = true});
  }
  add_site_packages(places);
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) places.push_back({.pattern = name, .loader_name = true});
  return places;
}

std::vector<fs::path> matching_files(const std::string& pattern) {
  glob_t matches{};
  const std::unique_ptr<glob_t, decltype(&globfree)> release(&matches, &globfree);
  if (glob(pattern.c_str(), 0, nullptr, &matches) != 0) return {};
  std::vector<std::string> names(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
  std::vector<fs::path> files;
  std::vector<fs::path> seen;
  for (const std::string& name : names) {
    std::error_code error;
    const fs::path real = fs::canonical(name, error);
    if (error || std::find(seen.begin(), seen.end(), real) != seen.end()) continue;
    seen.push_back(real);
    files.emplace_back(name);
  }
  return files;
}

std::string literal_pattern(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (std::strchr("*?[]\\", c) != nullptr) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string foreign_owner(const fs::path& file) {
  for (const fs::path& path : {file, file.parent_path()}) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return fmt::format("cannot read the owner of {}", path.string());
    if (status.st_uid != geteuid() && status.st_uid != 0) return fmt::format("ignored: {} belongs to user {}", path.string(), status.st_uid);
    if ((status.st_mode & S_IWOTH) != 0) return fmt::format("ignored: anyone can write to {}", path.string());
  }
  return {};
}

}  // namespace vostok::device::cuda
