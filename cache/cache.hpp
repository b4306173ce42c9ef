// The cache: tuning.db and code.db in layers. No GPU code here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/context.hpp>

#include "base/log.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

/// One layer as `vostok doctor` shows it.
struct LayerState {
  std::string kind = {};  ///< "user", "read-only", "shipped", "memory"
  std::string path = {};
  std::string state = {};        ///< "in use", "not there", "newer schema: ignored", ...
  std::int64_t tuning_rows = 0;  ///< this and the next: set by Exchange::count_rows
  std::int64_t code_rows = 0;
  std::int64_t bytes = 0;
};

/// Exports and imports the tuning rows of the user's own cache and of memory, and rereads the files.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::string export_rows() = 0;  ///< as cache/dump.hpp writes them
  /// Adds exported rows. They replace others except those that `here` has measured. Errors: invalid_argument naming the
  /// line.
  virtual void import_rows(std::string_view text, const plan::DeviceKey& here) = 0;
  virtual void reload() = 0;
  /// Sets the row counts of `layers`, which opening leaves out: reads every file.
  virtual void count_rows(std::vector<LayerState>& layers) = 0;
};

struct Opened {
  plan::Stores stores = {};
  std::shared_ptr<Exchange> exchange = {};  ///< never null
  std::vector<LayerState> layers = {};
};

/// Opens every layer that the options and the environment name. Never throws: each failure degrades to memory
/// with one warning through `logger`, counted in `*warnings`.
Opened open(const CacheOptions& options, const std::shared_ptr<Logger>& logger, std::function<void()> count_warning);

/// The path of the user's folder, and what determined it ("option", "VOSTOK_CACHE_DIR", "XDG_CACHE_HOME", "HOME").
struct Location {
  std::optional<std::filesystem::path> folder = {};
  std::string from = {};
};
Location locate(const CacheOptions& options);

}  // namespace vostok::cache
