#include "plan/memory_region.hpp"

#include <utility>

namespace vostok::plan {

namespace {

std::int64_t floor_div(std::int64_t value, std::int64_t divisor) {
  return value / divisor - static_cast<std::int64_t>(value % divisor != 0 && value < 0);
}

struct Span {
  std::int64_t first;
  std::int64_t last;
};

/// The pieces that touch [begin, end), of `count` pieces of `extent` bytes, `step` apart.
Span touching(std::int64_t count, std::int64_t step, std::int64_t extent, std::int64_t begin, std::int64_t end) {
  if (count == 1 || step == 0) return begin < extent && end > 0 ? Span{0, 0} : Span{0, -1};
  return {std::max<std::int64_t>(floor_div(begin - extent, step) + 1, 0),
          std::min(floor_div(end - 1, step), count - 1)};
}

/// Orders the two levels so that the larger step is the outer one.
Region nested(std::int64_t length, std::int64_t lines, std::int64_t leading, std::int64_t sets, std::int64_t stride) {
  if (length == 0 || lines == 0 || sets == 0) return {};
  if (lines == 1)
    return sets == 1 ? Region{.length = length} : Region{.inner = sets, .inner_step = stride, .length = length};
  if (sets == 1)
    return leading == length ? Region{.length = lines * length}
                             : Region{.inner = lines, .inner_step = leading, .length = length};
  if (leading == length && stride >= lines * length) return nested(lines * length, 1, 0, sets, stride);
  Region region{.outer = sets, .outer_step = stride, .inner = lines, .inner_step = leading, .length = length};
  if (leading > stride) {
    std::swap(region.outer, region.inner);
    std::swap(region.outer_step, region.inner_step);
  }
  return region;
}

/// Whether two regions have equal steps on each level that both have.
bool same_steps(const Region& a, const Region& b) {
  const bool outer = a.outer == 1 || b.outer == 1 || a.outer_step == b.outer_step;
  const bool inner = a.inner == 1 || b.inner == 1 || a.inner_step == b.inner_step;
  return outer && inner;
}

}  // namespace

bool Region::meets(std::int64_t begin, std::int64_t end) const {
  if (length == 0 || begin >= end) return false;
  const std::int64_t group = (inner - 1) * inner_step + length;
  const Span groups = touching(outer, outer_step, group, begin, end);
  for (std::int64_t i = groups.first; i <= groups.last; ++i) {
    const Span lines = touching(inner, inner_step, length, begin - i * outer_step, end - i * outer_step);
    if (lines.first <= lines.last) return true;
  }
  return false;
}

bool share_bytes(const Region& first, const Region& second, std::int64_t distance) {
  if (first.lines() == 0 || second.lines() == 0) return false;
  if (same_steps(first, second)) {
    // The distances between a line of one and a line of the other form a region themselves, of single bytes.
    const std::int64_t outer_step = first.outer > 1 ? first.outer_step : second.outer_step;
    const std::int64_t inner_step = first.inner > 1 ? first.inner_step : second.inner_step;
    const Region distances{.outer = first.outer + second.outer - 1,
                           .outer_step = outer_step,
                           .inner = first.inner + second.inner - 1,
                           .inner_step = inner_step,
                           .length = 1};
    const std::int64_t start = distance + (second.outer - 1) * outer_step + (second.inner - 1) * inner_step;
    return distances.meets(start - first.length + 1, start + second.length);
  }
  if (first.lines() > second.lines()) return share_bytes(second, first, -distance);
  for (std::int64_t i = 0; i < first.outer; ++i)
    for (std::int64_t j = 0; j < first.inner; ++j) {
      const std::int64_t begin = i * first.outer_step + j * first.inner_step - distance;
      if (second.meets(begin, begin + first.length)) return true;
    }
  return false;
}

Region array_region(std::int64_t count, Dtype type, std::int64_t sets, std::int64_t stride) {
  const std::int64_t element = size_of(type);
  return nested(count * element, 1, 0, sets, (stride != 0 ? stride : count) * element);
}

Region matrix_region(const ops::StoredMatrix& matrix, Dtype type, std::int64_t batch) {
  const std::int64_t element = size_of(type);
  return nested(matrix.length * element, matrix.lines, matrix.leading * element, batch, matrix.stride * element);
}

}  // namespace vostok::plan
