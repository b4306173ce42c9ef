#include "cache/code_store.hpp"

#include <utility>

#include "base/text.hpp"
#include "base/unix_time.hpp"
#include "cache/code_rows.hpp"

namespace vostok::cache {

CodeStore::CodeStore(const StoreSettings& settings)
    : reporter_(settings.reporter),
      max_bytes_(settings.max_code_bytes),
      layers_([settings] { return std::make_unique<Layers>(settings); }) {}

std::optional<device::Image> CodeStore::find(const std::string& key) {
  return guarded<std::optional<device::Image>>(layers_, *reporter_, [&](Layers& layers) {
    auto image = layers.memory_code().find(key);
    const bool refused = layers.refused_code().count(key) != 0;
    for (Layer& layer : layers.files())
      if (!image && (layer.is_writable() || !refused)) image = find_in(layer, key);
    return image;
  });
}

std::optional<device::Image> CodeStore::find_in(Layer& layer, const std::string& key) {
  std::optional<CodeRow> row;
  if (!layer.read([&](Connection& connection) { row = code_row(connection, key); }) || !row) return std::nullopt;
  if (!row->is_intact) {
    reporter_->degraded(fmt::format("{} holds a damaged kernel: ignored", layer.file().path.string()));
    layer.write([&](Connection& connection) {
      const auto there = code_row(connection, key);
      if (there && !there->is_intact)
        remove_code(connection, key);  // unless another process has stored a good one since
    });
    return std::nullopt;
  }
  // Noting the use once a day is enough to order eviction, and spares readers the write lock.
  const std::int64_t now = unix_seconds();
  if (layer.is_writable() && now - row->last_use >= day_seconds)
    layer.write([&](Connection& connection) { touch_code(connection, key, now); });
  return std::move(row->image);
}

void CodeStore::put(const plan::CodeEntry& entry, const device::Image& image) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    if (!layers.write(
            [&](Connection& connection) { store_code(connection, entry, image, unix_seconds(), max_bytes_); }))
      layers.memory_code().put(entry, image);
  });
}

void CodeStore::drop(const std::string& key) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    layers.refused_code().insert(key);
    layers.memory_code().drop(key);
    layers.write([&](Connection& connection) { remove_code(connection, key); });
  });
}

void CodeStore::reload() {
  guarded<void>(layers_, *reporter_, [](Layers& layers) { layers.reopen(); });
}

std::vector<LayerState> CodeStore::states(bool count_rows) {
  return guarded<std::vector<LayerState>>(layers_, *reporter_,
                                          [&](Layers& layers) { return layers.states(count_rows); });
}

}  // namespace vostok::cache
