#include "sparse/source.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace vostok::sparse {

namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

}  // namespace

void refuse(const Source& source, ErrorCode code, const std::string& reason) {
  fail(code, "cannot read {}: {}", printable(source.name), printable(reason));
}

void require_memory(const Source& source, std::int64_t bytes, const std::string& what) {
  if (bytes <= source.memory_bytes) return;
  refuse(source, ErrorCode::out_of_memory,
         fmt::format("{} take {} of memory, and {} are free", what, mebibytes(bytes), mebibytes(source.memory_bytes)));
}

void require_rows(const Source& source, std::int64_t rows) {
  constexpr std::int64_t any_file_bytes = std::int64_t{1} << 30;
  const std::int64_t most_bytes = std::max(any_file_bytes, 16 * static_cast<std::int64_t>(source.bytes.size()));
  const std::int64_t bytes = 8 * rows;
  require_memory(source, bytes, fmt::format("the offsets of {} rows", rows));
  if (bytes > most_bytes)
    refuse(source, ErrorCode::out_of_memory,
           fmt::format("the offsets of {} rows take {} of memory, and a file of {} bytes gets {} for them", rows,
                       mebibytes(bytes), source.bytes.size(), mebibytes(most_bytes)));
}

void refuse_memory(const Source& source) {
  refuse(source, ErrorCode::out_of_memory,
         fmt::format("what its {} bytes hold does not fit in memory", source.bytes.size()));
}

}  // namespace vostok::sparse
