#include "base/trusted_path.hpp"

#include <sys/stat.h>

#include <system_error>
#include <vector>

#include "base/text.hpp"

namespace vostok {

namespace {

constexpr int most_links = 40;  // what the kernel follows

class Walk {
 public:
  Walk(const PathProbe& probe, std::optional<unsigned> installation_owner)
      : probe_(probe), installation_owner_(installation_owner) {}

  /// Why the path is not trusted, or nothing; `place` is then where it ends.
  std::string follow(const std::filesystem::path& path) {
    push(path);
    const auto root = probe_.entry(place_);
    std::string doubt = root ? check_entry(place_, *root) : absent(place_);
    while (doubt.empty() && !rest_.empty()) {
      const std::filesystem::path name = rest_.back();
      rest_.pop_back();
      doubt = step(name);
    }
    return doubt.empty() ? check_last_folder() : doubt;
  }

  const std::filesystem::path& place() const { return place_; }

 private:
  void push(const std::filesystem::path& path) {
    if (path.is_absolute()) place_ = "/";
    const std::filesystem::path relative = path.relative_path();
    const std::vector<std::filesystem::path> names(relative.begin(), relative.end());
    rest_.insert(rest_.end(), names.rbegin(), names.rend());
  }

  std::string step(const std::filesystem::path& name) {
    if (name.empty() || name == ".") return {};
    if (name == "..") {
      place_ = place_.parent_path();
      return {};
    }
    const std::filesystem::path entry = place_ / name;
    const auto facts = probe_.entry(entry);
    if (!facts) return absent(entry);
    if (auto doubt = check_entry(entry, *facts); !doubt.empty()) return doubt;
    if (facts->is_link) return follow_link(entry);
    place_ = entry;
    return {};
  }

  std::string follow_link(const std::filesystem::path& link) {
    if (++links_ > most_links) return fmt::format("{} is the last of more than {} links", link.string(), most_links);
    const auto target = probe_.link_target(link);
    if (!target) return fmt::format("the link {} cannot be read", link.string());
    push(*target);
    return {};
  }

  std::string check_entry(const std::filesystem::path& path, const PathFacts& facts) {
    if (auto doubt = check_owner(path, facts); !doubt.empty()) return doubt;
    const bool is_shared = facts.is_folder && (facts.mode & S_ISVTX) != 0;  // others cannot exchange what is not theirs
    if (facts.is_link || is_shared || !others_can_write(facts, probe_)) return {};
    return writable_by_others(path, facts);
  }

  std::string check_owner(const std::filesystem::path& path, const PathFacts& facts) {
    if (facts.owner == 0) return {};
    if (facts.owner != known_owner_ && !probe_.is_known_owner(facts.owner)) {
      if (probe_.is_on_read_only_mount(facts.is_link ? path.parent_path() : path)) return {};
      return fmt::format("{} belongs to a user that this user namespace does not know", path.string());
    }
    known_owner_ = facts.owner;
    if (facts.owner == probe_.user() || facts.owner == installation_owner_) return {};
    return fmt::format("{} belongs to user {}, not to {}", path.string(), facts.owner, probe_.user());
  }

  /// In the folder that it ends in others can put nothing beside the file, a log of a database say, not even in a
  /// sticky one.
  std::string check_last_folder() const {
    const auto end = probe_.entry(place_);
    const std::filesystem::path folder = end && end->is_folder ? place_ : place_.parent_path();
    const auto facts = probe_.entry(folder);
    if (!facts) return absent(folder);
    return others_can_write(*facts, probe_) ? writable_by_others(folder, *facts) : std::string();
  }

  static std::string absent(const std::filesystem::path& path) {
    return fmt::format("{} is not there, or may not be looked at", path.string());
  }

  static std::string writable_by_others(const std::filesystem::path& path, const PathFacts& facts) {
    return fmt::format("others can write {} (mode {:o})", path.string(), facts.mode & 01777U);
  }

  const PathProbe& probe_;
  std::optional<unsigned> installation_owner_;
  std::filesystem::path place_ = "/";
  std::vector<std::filesystem::path> rest_;  // the next name is last
  int links_ = 0;
  std::optional<unsigned> known_owner_;  // asking about one costs two files of /proc
};

}  // namespace

bool others_can_write(const PathFacts& facts, const PathProbe& probe) {
  if ((facts.mode & S_IWOTH) != 0) return true;
  return (facts.mode & S_IWGRP) != 0 && (facts.has_access_list || !probe.is_private_group(facts.group));
}

TrustedPath trusted_path(const std::filesystem::path& path, const PathProbe& probe,
                         std::optional<unsigned> installation_owner) {
  std::error_code failure;
  const auto absolute = std::filesystem::absolute(path, failure);
  if (failure)
    return {.resolved = path, .doubt = fmt::format("{} cannot be followed: {}", path.string(), failure.message())};
  Walk walk(probe, installation_owner);
  std::string doubt = walk.follow(absolute);
  return {.resolved = walk.place(), .doubt = std::move(doubt)};
}

std::optional<unsigned> installation_owner(const std::filesystem::path& library, const PathProbe& probe) {
  const auto facts = probe.facts(library);
  if (!facts || !trusted_path(library, probe, facts->owner).is_trusted()) return std::nullopt;
  return facts->owner;
}

}  // namespace vostok
