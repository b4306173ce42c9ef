// plan::CodeStore over layers of code.db.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/layers.hpp"

namespace vostok::cache {

class CodeStore final : public plan::CodeStore {
 public:
  explicit CodeStore(const StoreSettings& settings);
  std::optional<device::Image> find(const std::string& key) override;
  void put(const plan::CodeEntry& entry, const device::Image& image) override;
  void drop(const std::string& key) override;

  void reload();  ///< reads every file again, including those that had failed

  std::vector<LayerState> states(bool count_rows);  ///< opens every layer

 private:
  std::optional<device::Image> find_in(Layer& layer, const std::string& key);

  std::shared_ptr<const Reporter> reporter_;
  std::int64_t max_bytes_;
  PerProcess<Layers> layers_;
};

}  // namespace vostok::cache
