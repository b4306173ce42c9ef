// Every packed format of the library. A new one is a line here.
#include "base/immortal.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/runs_format.hpp"
#include "ops/topology/sparse_format.hpp"
#include "ops/topology/strip_format.hpp"

namespace vostok::ops {

const std::vector<std::unique_ptr<PackedFormat>>& packed_formats() {
  static const auto& list = immortal([] {
    std::vector<std::unique_ptr<PackedFormat>> made;
    add_strip_formats(made);
    add_runs_formats(made);
    add_sparse_formats(made);
    return made;
  });
  return list;
}

const PackedFormat* find_packed_format(std::string_view name) {
  for (const auto& format : packed_formats())
    if (format->name() == name) return format.get();
  return nullptr;
}

}  // namespace vostok::ops
