// A folder that goes away, a logger that remembers, and sample rows.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "cache/open.hpp"

namespace vostok::cache::testing {

/// An opened cache with what it said.
struct Opening {
  std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<int> warnings = std::make_shared<int>(0);
  Opened opened;

  explicit Opening(const CacheOptions& options,
                   const std::shared_ptr<const PathProbe>& probe = std::make_shared<const PathProbe>()) {
    auto logger =
        std::make_shared<Logger>([said = lines](LogLevel, std::string_view line) { said->emplace_back(line); });
    opened = open_with(options, logger, [count = warnings] { ++*count; }, probe);
  }
  plan::TuningStore& tuning() { return *opened.stores.tuning; }
  plan::CodeStore& code() { return *opened.stores.code; }
  bool said(const std::string& part) const {
    for (const std::string& line : *lines)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }
  const LayerState* layer(const std::string& path_end) const {
    for (const LayerState& layer : opened.layers)
      if (layer.path.size() >= path_end.size() &&
          layer.path.compare(layer.path.size() - path_end.size(), path_end.size(), path_end) == 0)
        return &layer;
    return nullptr;
  }
};

inline CacheOptions in_folder(const std::filesystem::path& folder) {
  CacheOptions options;
  options.folder = folder;
  options.shipped = folder / "no-shipped-files";
  options.environment = false;
  options.lock_timeout_ms = 20000;  // tests share two slow cores
  return options;
}

inline plan::ProblemKey sample_problem(std::int64_t n = 64) {
  return {.operation = "spmm",
          .exact = "element=f32 operation=spmm",
          .features =
              {.m = 512, .k = 256, .n = n, .nonzeros = 13107, .longest_row = 60, .row_variation = 0.25, .index = "i32"},
          .policy = "warm"};
}

inline plan::DeviceKey sample_device(const std::string& uuid = "GPU-here") {
  return {.uuid = uuid,
          .name = "NVIDIA H200",
          .architecture = "sm_90",
          .multiprocessors = 132,
          .memory_bytes = std::int64_t{150} << 30,
          .l2_bytes = std::int64_t{60} << 20,
          .driver = "13.0"};
}

inline plan::WinnerRecord sample_winner(const std::string& tile_rows = "8") {
  return {.family = "row_tile",
          .config = {{"tile_rows", tile_rows}, {"dense_vector", "4"}},
          .code_digest = "d1",
          .median_us = 12.5,
          .default_median_us = 15.25,
          .rounds = 9,
          .effort = Effort::full,
          .library_version = "0.1.0"};
}

inline plan::TrialRecord sample_trial(const std::string& tile_rows = "8") {
  return {.family = "row_tile",
          .config = {{"tile_rows", tile_rows}},
          .code_digest = "d1",
          .is_default = true,
          .status = "measured",
          .reason = "",
          .median_us = 12.5,
          .spread_us = 0.125,
          .rounds = 9,
          .registers = 40,
          .spill_bytes = 0,
          .shared_bytes = 2048,
          .measured_at = 1700000000};
}

inline plan::CodeEntry sample_entry(const std::string& key = "key") {
  return {.key = key,
          .family = "row_tile",
          .expression = "vostok::row_tile<>",
          .architecture = "sm_90",
          .compiler = "nvrtc 13.0.88"};
}

inline device::Image sample_image(std::size_t bytes = 1000) {
  device::Image image{.binary = std::string(bytes, 'x'),
                      .symbol = "_Z8row_tile",
                      .registers = 40,
                      .spill_bytes = 4,
                      .stack_bytes = 8,
                      .static_shared_bytes = 16,
                      .warnings = {"one\nline", "back\\slash", ""}};
  image.binary[bytes / 2] = '\0';
  return image;
}

inline bool same_image(const device::Image& a, const device::Image& b) {
  return a.binary == b.binary && a.symbol == b.symbol && a.registers == b.registers && a.spill_bytes == b.spill_bytes &&
         a.stack_bytes == b.stack_bytes && a.static_shared_bytes == b.static_shared_bytes && a.warnings == b.warnings;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Number of entries of `folder` whose name contains `part`.
inline int entries_like(const std::filesystem::path& folder, const std::string& part) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().filename().string().find(part) != std::string::npos;
  return count;
}

/// The rows of a choice in use; empty where there is none.
inline std::string tile_found(Opening& opening) {
  const auto found = opening.tuning().find(sample_problem(), sample_device());
  return found.empty() ? "" : found.front().winner.config.at("tile_rows");
}

/// A private folder with the cache files of another, where that is there.
inline void copy_caches(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove_all(to);
  std::filesystem::create_directory(to);
  std::filesystem::permissions(to, std::filesystem::perms::owner_all);
  for (const char* name : {"tuning.db", "code.db"})
    if (std::filesystem::exists(from / name)) std::filesystem::copy_file(from / name, to / name);
}

}  // namespace vostok::cache::testing
