#include "base/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/number_text.hpp"

namespace vostok {

namespace {

/// The beginning of a file of the system; empty where there is none.
std::string beginning_of(const char* path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path, "re"));
  std::string text(4096, '\0');
  text.resize(file ? std::fread(text.data(), 1, text.size(), file.get()) : 0);
  return text;
}

std::optional<std::int64_t> number_at(std::string_view text, std::size_t at) {
  const std::size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
  const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
  return parse_number<std::int64_t>(text.substr(begin, end - begin));
}

/// The number behind `field`, which the system gives in kB.
std::optional<std::int64_t> field_bytes(std::string_view text, std::string_view field) {
  const std::size_t at = text.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  const auto kibibytes = number_at(text, at + field.size());
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

/// A limit on what the container's processes may hold together, of either version of control groups.
std::int64_t container_limit() {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    limit = std::min(limit, number_at(beginning_of(file), 0).value_or(limit));
  return limit;
}

}  // namespace

std::int64_t machine_memory_bytes() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

std::int64_t available_host_bytes() {
  const std::string memory = beginning_of("/proc/meminfo");
  const std::int64_t whole = machine_memory_bytes();
  const auto available = field_bytes(memory, "MemAvailable:");
  return std::min(available ? *available + field_bytes(memory, "SwapFree:").value_or(0) : whole, container_limit());
}

}  // namespace vostok
