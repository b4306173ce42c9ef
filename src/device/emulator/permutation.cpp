#include "device/emulator/permutation.hpp"

#include <numeric>

namespace vostok::device::emulator {
namespace {
__extension__ using Wide = unsigned __int128;
}

BlockOrder::BlockOrder(Order order, std::uint64_t count) : count_(count) {
  if (order.kind == Order::Kind::reverse) {
    factor_ = count - 1;  // i -> -i + (count - 1), modulo count
    offset_ = count - 1;
  }
  if (order.kind == Order::Kind::seeded) {
    Random random(order.seed);
    offset_ = random.below(count);
    do factor_ = 1 + random.below(count);
    while (std::gcd(factor_, count) != 1);
  }
}

std::uint64_t BlockOrder::operator()(std::uint64_t turn) const {
  return static_cast<std::uint64_t>((Wide{factor_} * turn + offset_) % count_);
}

}  // namespace vostok::device::emulator
