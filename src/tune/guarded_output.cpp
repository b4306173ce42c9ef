#include "tune/guarded_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/elements.hpp"

namespace vostok::tune {

namespace {

constexpr std::int64_t fence_bytes = 4096;
constexpr int poison_byte = 0xff;

bool all_poison(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{poison_byte}; });
}

}  // namespace

GuardedOutput::GuardedOutput(device::Device& device, Dtype type, const ops::StoredMatrix& shape, std::int64_t batch,
                             std::int64_t shift_bytes)
    : device_(&device), type_(type), shape_(shape), batch_(batch), front_bytes_(fence_bytes + shift_bytes) {
  checked_multiply(checked_multiply(batch, shape.stride, "the output's size"), size_of(type), "the output's bytes");
  // If memory ends at a guard page, its start is a multiple of 256 only if its size is.
  buffer_ = device::Buffer(device, round_up(front_bytes_ + element_count() * size_of(type) + fence_bytes, 256));
}

void* GuardedOutput::data() const { return buffer_.as<std::byte>() + front_bytes_; }

std::int64_t GuardedOutput::element_count() const {
  return batch_ == 0 ? 0 : (batch_ - 1) * shape_.stride + shape_.extent();
}

template <class Visit>
void GuardedOutput::visit_runs(Visit&& visit) const {
  std::int64_t at = 0;
  const auto run = [&](std::int64_t end, bool is_line) {
    if (end > at) visit(static_cast<std::size_t>(at), static_cast<std::size_t>(end), is_line);
    at = end;
  };
  const auto line_at = [&](std::int64_t element) {
    const std::int64_t begin = front_bytes_ + element * size_of(type_);
    run(begin, false);
    run(begin + shape_.length * size_of(type_), true);
  };
  const bool interleaved = shape_.stride < shape_.extent();
  const auto [outer, outer_step] =
      interleaved ? std::pair(shape_.lines, shape_.leading) : std::pair(batch_, shape_.stride);
  const auto [inner, inner_step] =
      interleaved ? std::pair(batch_, shape_.stride) : std::pair(shape_.lines, shape_.leading);
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t j = 0; j < inner; ++j) line_at(i * outer_step + j * inner_step);
  run(buffer_.bytes(), false);
}

void GuardedOutput::reset(Stream stream, std::span<const float> initial) const {
  device_->fill(stream, buffer_.data(), poison_byte, buffer_.bytes());
  if (initial.empty()) return;
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer_.bytes()), std::byte{poison_byte});
  const std::vector<std::byte> stored = sparse::to_storage(type_, initial);
  visit_runs([&](std::size_t begin, std::size_t end, bool is_line) {
    const std::size_t first = begin - (is_line ? static_cast<std::size_t>(front_bytes_) : 0);
    if (is_line)
      std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(first), end - begin,
                  bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  device_->copy_to_device(buffer_.data(), bytes.data(), buffer_.bytes(), stream);
}

GuardedOutput::Contents GuardedOutput::read() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer_.bytes()));
  device_->copy_to_host(bytes.data(), buffer_.data(), buffer_.bytes(), device_->own_stream());
  const auto front = static_cast<std::size_t>(front_bytes_);
  const auto element_bytes = static_cast<std::size_t>(size_of(type_));
  Contents contents;
  contents.values = sparse::from_storage(
      type_, std::span(bytes).subspan(front, static_cast<std::size_t>(element_count()) * element_bytes));
  visit_runs([&](std::size_t begin, std::size_t end, bool is_line) {
    const std::span<const std::byte> run = std::span(bytes).subspan(begin, end - begin);
    if (!is_line) {
      if (!all_poison(run))
        contents.wrong = fmt::format("memory outside the output's lines was written, near byte {} of the output",
                                     static_cast<std::int64_t>(begin) - front_bytes_);
      return;
    }
    for (std::size_t i = 0; i < run.size(); i += element_bytes) {
      const std::size_t element = (begin + i - front) / element_bytes;
      if (!std::isnan(contents.values[element])) continue;
      contents.holds_nan = true;
      if (all_poison(run.subspan(i, element_bytes)))
        contents.wrong = fmt::format("element {} of the output was not written", element);
    }
  });
  return contents;
}

}  // namespace vostok::tune
