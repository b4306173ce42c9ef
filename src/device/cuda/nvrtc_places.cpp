#include "device/cuda/nvrtc_places.hpp"

#include <glob.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.hpp"

namespace vostok::device::cuda {

namespace {

namespace fs = std::filesystem;

constexpr const char* file_pattern = "/libnvrtc.so*";
constexpr const char* wheel_pattern = "/nvidia/*/lib/libnvrtc.so*";

std::vector<NvrtcPlace> chosen_place(const fs::path& path) {
  std::error_code ignored;
  const std::string text = literal_pattern(path.string());
  return {{.pattern = fs::is_directory(path, ignored) ? text + file_pattern : text, .named = true}};
}

void add_toolkit(std::vector<NvrtcPlace>& places, const std::string& root, bool named) {
  for (const char* folder : {"/lib64", "/lib", "/targets/*/lib"})
    places.push_back({.pattern = root + folder + file_pattern, .named = named});
}

/// Site-packages are named by the script that activates an environment, not by the user: their files must be trusted.
void add_site_packages(std::vector<NvrtcPlace>& places, bool raised) {
  const auto add = [&](const std::string& folder) { places.push_back({.pattern = folder + wheel_pattern}); };
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto root = trusted_environment(variable, raised)) add(literal_pattern(*root) + "/lib/python3*/site-packages");
  }
  if (auto home = trusted_environment("HOME", raised))
    add(literal_pattern(*home) + "/.local/lib/python3*/site-packages");
  for (const char* folder : {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
                             "/usr/lib/python3*/site-packages", "/usr/lib/python3*/dist-packages"}) {
    add(folder);
  }
}

}  // namespace

std::vector<NvrtcPlace> nvrtc_places(const std::optional<fs::path>& chosen, bool raised) {
  if (chosen) return chosen_place(*chosen);
  if (auto path = trusted_environment("VOSTOK_NVRTC", raised)) return chosen_place(*path);
  std::vector<NvrtcPlace> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto root = trusted_environment(variable, raised)) add_toolkit(places, literal_pattern(*root), true);
  }
  add_toolkit(places, "/usr/local/cuda", false);
  add_toolkit(places, "/usr/local/cuda-*", false);
  add_site_packages(places, raised);
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    places.push_back({.pattern = name, .loader_name = true, .named = true});
  return places;
}

std::vector<fs::path> matching_files(const std::string& pattern) {
  glob_t matches{};
  const std::unique_ptr<glob_t, decltype(&globfree)> release(&matches, &globfree);
  if (glob(pattern.c_str(), 0, nullptr, &matches) != 0) return {};
  std::vector<std::string> names(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
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

}  // namespace vostok::device::cuda
