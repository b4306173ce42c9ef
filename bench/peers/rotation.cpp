#include "bench/peers/rotation.hpp"

#include <algorithm>
#include <memory>

#include "base/text.hpp"

namespace vostok::bench {

std::int64_t cold_bytes(const DeviceInfo& device) { return std::max<std::int64_t>(220'000'000, 3 * device.l2_bytes); }

int copies_of(std::int64_t rotated_bytes, std::int64_t bytes) {
  constexpr std::int64_t most = 1024;
  if (rotated_bytes == 0) return 1;
  const std::int64_t copies = std::max<std::int64_t>(2, rotated_bytes / std::max<std::int64_t>(bytes, 1) + 1);
  if (copies > most)
    fail(ErrorCode::unsupported, "cannot rotate weights: it takes {} copies of {} bytes to pass {}, and {} are the most", copies, bytes,
         rotated_bytes, most);
  return static_cast<int>(copies);
}

std::function<void(Stream)> in_turn(std::vector<std::function<void(Stream)>> calls) {
  if (calls.size() == 1) return std::move(calls.front());
  struct State {
    std::vector<std::function<void(Stream)>> calls;
    std::size_t next = 0;
  };
  auto state = std::make_shared<State>(State{.calls = std::move(calls)});
  return [state](Stream stream) {
    state->calls[state->next](stream);
    state->next = (state->next + 1) % state->calls.size();
  };
}

}  // namespace vostok::bench
