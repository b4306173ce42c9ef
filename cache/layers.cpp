#include "cache/layers.hpp"

namespace vostok::cache {

Layers::Layers(const StoreSettings& settings) : memory_(plan::memory_stores()) {
  files_.reserve(settings.files.size());
  for (const LayerFile& file : settings.files) files_.emplace_back(file, settings.reporter, settings.probe);
}

bool Layers::write(const std::function<void(Connection&)>& work) {
  for (Layer& layer : files_)
    if (layer.write(work)) return true;
  return false;
}

Connection& Layers::memory_rows() {
  if (!memory_rows_) {
    auto rows = std::make_unique<Connection>(":memory:", Access::read_write, 0);
    make_schema(*rows, Content::tuning);
    memory_rows_ = std::move(rows);
  }
  return *memory_rows_;
}

void Layers::reopen() {
  for (Layer& layer : files_) layer.reopen();
  refused_code_.clear();
}

std::vector<LayerState> Layers::states(bool count_rows) {
  std::vector<LayerState> states;
  for (Layer& layer : files_) {
    const LayerFile& file = layer.file();
    LayerState state{.kind = name(file.kind), .path = file.path.string()};
    layer.read([&](Connection& connection) {
      if (!count_rows) return;
      if (file.content == Content::tuning)
        state.tuning_rows = row_count(connection, "winner") + row_count(connection, "trial");
      else state.code_rows = row_count(connection, "code");
    });
    state.state = layer.state();
    state.bytes = layer.bytes();
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace vostok::cache
