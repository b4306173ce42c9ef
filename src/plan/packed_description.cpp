#include "plan/packed_description.hpp"

#include "base/text.hpp"
#include "plan/topology_state.hpp"

namespace vostok::plan {

FieldMap describe_packed(const Topology& topology, const PackedKind& kind) {
  return {{"format", kind.format()},
          {"sets", std::to_string(kind.sets)},
          {"rows", std::to_string(topology.rows())},
          {"cols", std::to_string(topology.cols())},
          {"nonzeros", std::to_string(topology.nonzeros())},
          {"structure", topology.state()->structure_digest()}};
}

PackedKind kind_of(const FieldMap& description, const std::string& name) {
  const auto format = description.find("format");
  const auto sets = description.find("sets");
  auto kind = format != description.end() ? PackedKind::parse(format->second) : std::nullopt;
  const auto count = number_in(description, "sets");
  if (!kind)
    fail_broken(name, fmt::format("this library does not know their format \"{}\"",
                                  format != description.end() ? format->second : ""));
  if (!count)
    fail_broken(name, fmt::format("they are said to be \"{}\" sets", sets != description.end() ? sets->second : ""));
  kind->sets = *count;
  return *kind;
}

}  // namespace vostok::plan
