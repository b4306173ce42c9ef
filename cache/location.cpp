#include "cache/location.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "cache/cache.hpp"

namespace vostok::cache {

namespace {

constexpr unsigned writable_by_anyone = 0222;

// f_type of statfs(2), from each file system's own documentation.
constexpr std::array<std::pair<std::int64_t, const char*>, 13> network_types{{{0x6969, "NFS"},
                                                                              {0x0BD00BD0, "Lustre"},
                                                                              {0x47504653, "GPFS"},
                                                                              {0xFF534D42, "CIFS"},
                                                                              {0xFE534D42, "SMB2"},
                                                                              {0x517B, "SMB"},
                                                                              {0x19830326, "BeeGFS"},
                                                                              {0x00C36400, "Ceph"},
                                                                              {0x5346414F, "AFS"},
                                                                              {0x6B414653, "AFS"},
                                                                              {0x65735546, "FUSE"},
                                                                              {0xAAD7AAEA, "PanFS"},
                                                                              {0x20030528, "OrangeFS"}}};

/// The nearest existing folder at or above `path`.
std::filesystem::path existing_ancestor(std::filesystem::path path, const PathProbe& probe) {
  while (!probe.facts(path) && path.has_relative_path()) path = path.parent_path();
  return path.empty() ? std::filesystem::path(".") : path;
}

bool make_private(const std::filesystem::path& folder, const PathProbe& probe) {
  if (folder.empty() || probe.facts(folder)) return true;
  if (!make_private(folder.parent_path(), probe)) return false;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;  // another process may be first
}

std::optional<std::filesystem::path> absolute_variable(const char* variable) {
  const auto value = trusted_environment(variable);
  if (!value || !std::filesystem::path(*value).is_absolute()) return std::nullopt;  // as the XDG specification requires
  return *value;
}

}  // namespace

Location locate(const CacheOptions& options) {
  if (options.folder) return {*options.folder, "option"};
  if (const auto folder = trusted_environment("VOSTOK_CACHE_DIR")) return {*folder, "VOSTOK_CACHE_DIR"};
  if (const auto folder = absolute_variable("XDG_CACHE_HOME")) return {*folder / "vostok", "XDG_CACHE_HOME"};
  if (const auto folder = absolute_variable("HOME")) return {*folder / ".cache" / "vostok", "HOME"};
  if (privileges_are_raised())
    return {std::nullopt, "this program's privileges are raised, so that no variable names a folder"};
  return {std::nullopt, "neither VOSTOK_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder"};
}

std::optional<std::string> network_file_system(std::int64_t type) {
  for (const auto& [magic, title] : network_types)
    if ((type & 0xFFFFFFFF) == magic) return title;
  return std::nullopt;
}

FolderVerdict prepare_folder(const std::filesystem::path& folder, bool allow_network, const PathProbe& probe) {
  const auto network = network_file_system(probe.filesystem_type(existing_ancestor(folder, probe)));
  const bool read_only = network && !allow_network;
  if (!read_only && !make_private(folder, probe))
    return {FolderUse::none,
            fmt::format("cannot make {}: {}", folder.string(), std::generic_category().message(errno))};
  const std::string network_reason =
      network ? fmt::format(
                    "{} is on a network file system ({}): read, not written; set allow_network_folder to write to it",
                    folder.string(), *network)
              : "";
  const auto facts = probe.facts(folder);
  if (!facts && read_only) return {FolderUse::none, network_reason};
  if (!facts || !facts->is_folder) return {FolderUse::none, fmt::format("{} is not a folder", folder.string())};
  if (auto place = trusted_path(folder, probe); !place.is_trusted()) return {FolderUse::none, std::move(place.doubt)};
  if (read_only) return {FolderUse::read_only, network_reason};
  if (!facts->is_writable || facts->on_read_only_mount)
    return {FolderUse::read_only, fmt::format("{} is read-only", folder.string())};
  return {};
}

bool nobody_can_write(const std::filesystem::path& file, const PathProbe& probe) {
  const auto facts = probe.facts(file);
  return facts && (facts->on_read_only_mount || (facts->mode & writable_by_anyone) == 0);
}

std::optional<std::filesystem::path> library_file() {
  Dl_info image = {};
  if (dladdr(reinterpret_cast<const void*>(&library_file), &image) == 0 || image.dli_fname == nullptr)
    return std::nullopt;
  std::error_code failure;
  auto library = std::filesystem::canonical(image.dli_fname, failure);
  if (failure)
    library = std::filesystem::canonical("/proc/self/exe", failure);  // an executable started by its bare name
  return failure ? std::nullopt : std::optional(std::move(library));
}

std::optional<ShippedFolder> shipped_folder(const PathProbe& probe,
                                            const std::optional<std::filesystem::path>& library) {
  if (!library) return std::nullopt;
  auto prefix = library->parent_path().parent_path();             // of bin/ and lib/
  if (prefix.filename() == "lib") prefix = prefix.parent_path();  // of lib/x86_64-linux-gnu/
  const auto folder = prefix / "share" / "vostok";
  const auto facts = probe.facts(folder);
  if (!facts || !facts->is_folder) return std::nullopt;
  // A program's folder may be one in which anybody can create a `share`: only files of an owner who could
  // change the library are trusted.
  const auto owner = installation_owner(*library, probe);
  TrustedPath place = trusted_path(folder, probe, owner);
  return ShippedFolder{.path = place.is_trusted() ? place.resolved : folder,
                       .installation_owner = owner,
                       .doubt = std::move(place.doubt)};
}

}  // namespace vostok::cache
