#include "sparse/source.hpp"

#include "base/printable.hpp"

namespace vostok::sparse {

void refuse(const Source& source, ErrorCode code, const std::string& reason) {
  fail(code, "cannot read {}: {}", printable(source.name), printable(reason));
}

void require_memory(const Source& source, std::int64_t bytes, const std::string& what) {
  if (bytes <= source.memory_bytes) return;
  constexpr double mib = 1024 * 1024;
  refuse(source, ErrorCode::out_of_memory,
         fmt::format("{} take {:.1f} MiB of memory, and {:.1f} MiB are free", what, static_cast<double>(bytes) / mib,
                     static_cast<double>(source.memory_bytes) / mib));
}

void refuse_memory(const Source& source) {
  refuse(source, ErrorCode::out_of_memory, fmt::format("what its {} bytes hold does not fit in memory", source.bytes.size()));
}

}  // namespace vostok::sparse
