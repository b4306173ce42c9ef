#include "bench/peers/rotation.hpp"

#include "base/text.hpp"

namespace vostok::bench {

int copies_of(std::int64_t rotated_bytes, std::int64_t bytes) {
  constexpr std::int64_t most = 1024;
  if (rotated_bytes == 0) return 1;
  const std::int64_t copies = tune::copies_past(rotated_bytes, bytes);
  if (copies > most)
    fail(ErrorCode::unsupported,
         "cannot rotate weights: it takes {} copies of {} bytes to pass {}, and {} are the most", copies, bytes,
         rotated_bytes, most);
  return static_cast<int>(copies);
}

}  // namespace vostok::bench
