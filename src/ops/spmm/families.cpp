#include "ops/spmm/family.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::ops {

const std::vector<std::unique_ptr<SpmmFamily>>& spmm_families() {
  static const auto families = [] {
    std::vector<std::unique_ptr<SpmmFamily>> list;
    list.push_back(make_row_tile());
    return list;
  }();
  return families;
}

const SpmmFamily* find_spmm_family(std::string_view name) {
  for (const auto& family : spmm_families())
    if (family->name() == name) return family.get();
  return nullptr;
}

}  // namespace vostok::ops
