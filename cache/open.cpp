#include "cache/open.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "cache/code_store.hpp"
#include "cache/location.hpp"
#include "cache/tuning_store.hpp"

namespace vostok::cache {

namespace {

/// The places of the layers, before any file is opened.
struct Places {
  std::vector<LayerFile> files;
  std::vector<LayerState> without_files;  ///< layers that are not used, listed for doctor
};

/// The trusted keys. A key that cannot be read is dropped: files that it should have vouched for are then refused.
std::vector<PublicKey> trusted_keys(const CacheOptions& options, const Reporter& reporter) {
  std::vector<PublicKey> keys;
  for (const std::string& key : options.trusted_keys) {
    try {
      keys.push_back(parse_public_key(key));
    } catch (const Error& error) {
      reporter.degraded(fmt::format("a trusted key is not used: {}", error.what()));
      keys.emplace_back();
    }
  }
  return keys;
}

/// Demands signatures for code made by others if keys are given. Tuning rows are checked against the rules, whoever
/// wrote them.
void demand_signatures(Places& places, const CacheOptions& options, const Reporter& reporter) {
  const auto keys = trusted_keys(options, reporter);
  for (LayerFile& file : places.files)
    if (file.kind != LayerKind::user && file.content == Content::code) file.trusted_keys = keys;
}

void add_folder(Places& places, LayerKind kind, const std::filesystem::path& folder, bool writable,
                int lock_timeout_ms) {
  for (const Content content : {Content::tuning, Content::code})
    places.files.push_back({.kind = kind,
                            .content = content,
                            .path = folder / file_name(content),
                            .writable = writable,
                            .lock_timeout_ms = lock_timeout_ms});
}

void add_user(Places& places, const CacheOptions& options, const Reporter& reporter, const PathProbe& probe) {
  const Location location = locate(options);
  if (!location.folder) {
    reporter.degraded(location.from + ": nothing is kept beyond this process");
    places.without_files.push_back({.kind = name(LayerKind::user), .state = location.from});
    return;
  }
  const FolderVerdict verdict = prepare_folder(*location.folder, options.allow_network_folder, probe);
  if (!verdict.reason.empty()) reporter.degraded(verdict.reason + "; new results are kept in memory only");
  if (verdict.use == FolderUse::none)
    places.without_files.push_back(
        {.kind = name(LayerKind::user), .path = location.folder->string(), .state = verdict.reason});
  else
    add_folder(places, LayerKind::user, *location.folder, verdict.use == FolderUse::read_write,
               options.lock_timeout_ms);
}

/// Adds a folder with either file in it, or one file of either content.
void add_read_only(Places& places, const std::filesystem::path& path, int lock_timeout_ms, const Reporter& reporter,
                   const PathProbe& probe) {
  const auto refuse = [&](const std::string& reason) {
    reporter.degraded(fmt::format("{} is not used: {}", path.string(), reason));
    places.without_files.push_back({.kind = name(LayerKind::read_only), .path = path.string(), .state = reason});
  };
  const auto facts = probe.facts(path);
  if (!facts) return refuse("not there");
  if (facts->is_folder) return add_folder(places, LayerKind::read_only, path, false, lock_timeout_ms);
  try {
    const auto content = content_in(path);
    if (!content) return refuse("no cache file of vostok");
    places.files.push_back(
        {.kind = LayerKind::read_only, .content = *content, .path = path, .lock_timeout_ms = lock_timeout_ms});
  } catch (const Error& error) {
    refuse(error.what());
  }
}

void add_shipped(Places& places, const CacheOptions& options, const Reporter& reporter, const PathProbe& probe) {
  if (options.shipped) return add_folder(places, LayerKind::shipped, *options.shipped, false, options.lock_timeout_ms);
  const auto folder = shipped_folder(probe);
  if (!folder) return;
  if (!folder->is_trusted()) {
    reporter.degraded(fmt::format("{} is not used: {}", folder->path.string(), folder->doubt));
    places.without_files.push_back(
        {.kind = name(LayerKind::shipped), .path = folder->path.string(), .state = folder->doubt});
    return;
  }
  add_folder(places, LayerKind::shipped, folder->path, false, options.lock_timeout_ms);
  for (LayerFile& file : places.files)
    if (file.kind == LayerKind::shipped) file.installation_owner = folder->installation_owner;
}

/// The layers of the option, then those of the environment variable.
std::vector<std::filesystem::path> read_only_layers(const CacheOptions& options) {
  std::vector<std::filesystem::path> layers = options.read_only;
  if (!options.environment) return layers;
  std::istringstream names(trusted_environment("VOSTOK_READ_ONLY_CACHE").value_or(""));
  for (std::string name; std::getline(names, name, ':');)
    if (!name.empty()) layers.emplace_back(name);
  return layers;
}

template <class Store>
std::shared_ptr<Store> make_store(const Places& places, Content content, const CacheOptions& options,
                                  const std::shared_ptr<const Reporter>& reporter,
                                  const std::shared_ptr<const PathProbe>& probe, std::vector<LayerState>& states) {
  StoreSettings settings{.files = {}, .reporter = reporter, .probe = probe, .max_code_bytes = options.max_code_bytes};
  for (const LayerFile& file : places.files)
    if (file.content == content) settings.files.push_back(file);
  auto store = std::make_shared<Store>(settings);
  for (LayerState& state : store->states(false)) states.push_back(std::move(state));
  return store;
}

class StoreExchange final : public Exchange {
 public:
  StoreExchange(std::shared_ptr<TuningStore> tuning, std::shared_ptr<CodeStore> code)
      : tuning_(std::move(tuning)), code_(std::move(code)) {}
  std::string export_rows() override { return content_text(tuning_->own_rows()); }
  void import_rows(std::string_view text, const plan::DeviceKey& here) override {
    tuning_->add_rows(parse_content(text), here);
  }
  void count_rows(std::vector<LayerState>& layers) override {
    std::vector<LayerState> counted = tuning_->states(true);
    std::ranges::move(code_->states(true), std::back_inserter(counted));
    for (LayerState& layer : layers) {
      const auto same = std::ranges::find(counted, layer.path, &LayerState::path);
      if (same != counted.end()) layer = *same;
    }
  }
  void reload() override {
    tuning_->reload();
    code_->reload();
  }

 private:
  std::shared_ptr<TuningStore> tuning_;
  std::shared_ptr<CodeStore> code_;
};

/// The places of all layers, as far as they can be determined.
Places find_places(const CacheOptions& options, const Reporter& reporter, const PathProbe& probe) {
  Places places;
  try {
    add_user(places, options, reporter, probe);
    for (const std::filesystem::path& path : read_only_layers(options))
      add_read_only(places, path, options.lock_timeout_ms, reporter, probe);
    add_shipped(places, options, reporter, probe);
    demand_signatures(places, options, reporter);
  } catch (const std::exception& error) {
    reporter.degraded(error.what());
    if (!options.trusted_keys.empty()) places.files.clear();  // some may lack their demand for signatures
  }
  return places;
}

}  // namespace

Opened open_with(const CacheOptions& options, const std::shared_ptr<Logger>& logger,
                 std::function<void()> count_warning, const std::shared_ptr<const PathProbe>& probe) {
  const auto reporter = std::make_shared<const Reporter>(logger, std::move(count_warning));
  Places places;
  if (options.enabled) places = find_places(options, *reporter, *probe);
  else places.without_files.push_back({.kind = "memory", .state = "in use: the cache is switched off"});
  Opened opened;
  opened.layers = std::move(places.without_files);
  const auto tuning = make_store<TuningStore>(places, Content::tuning, options, reporter, probe, opened.layers);
  const auto code = make_store<CodeStore>(places, Content::code, options, reporter, probe, opened.layers);
  opened.stores = {.tuning = tuning, .code = code};
  opened.exchange = std::make_shared<StoreExchange>(tuning, code);
  return opened;
}

Opened open(const CacheOptions& options, const std::shared_ptr<Logger>& logger, std::function<void()> count_warning) {
  return open_with(options, logger, std::move(count_warning), std::make_shared<const PathProbe>());
}

}  // namespace vostok::cache
