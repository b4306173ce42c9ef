#include "tune/rotation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace vostok::tune {

std::int64_t cold_bytes(const DeviceInfo& device) { return std::max<std::int64_t>(220'000'000, 3 * device.l2_bytes); }

std::int64_t copies_past(std::int64_t cold_bytes, std::int64_t bytes) {
  return std::max<std::int64_t>(2, cold_bytes / std::max<std::int64_t>(bytes, 1) + 1);
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

std::shared_ptr<device::TimedSequence> record_flush(device::Device& device) {
  constexpr std::int64_t little = 1 << 16;
  auto memory = std::make_shared<device::Buffer>(device, device.info().gpu ? cold_bytes(device.info()) : little);
  std::unique_ptr<device::TimedSequence> sequence =
      device.record([&](Stream stream) { device.fill(stream, memory->data(), 0, memory->bytes()); });
  // The memory must outlive the sequence.
  device::TimedSequence* const replayed = sequence.release();
  return {replayed, [memory](device::TimedSequence* done) { delete done; }};
}

OperandCopy::OperandCopy(device::Device& device, const Case& original) {
  constexpr std::int64_t alignment = 256;
  for (const CaseOperand& operand : original.operands()) {
    if (operand.data == nullptr || operand.bytes == 0) continue;
    // The copy is aligned no better than the original, since the problem declares no better.
    const auto shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data) % alignment);
    Moved moved{.from = operand, .buffer = device::Buffer(device, shift + operand.bytes)};
    moved.to = moved.buffer.as<std::byte>() + shift;
    std::vector<std::byte> content(static_cast<std::size_t>(operand.bytes));
    device.copy_to_host(content.data(), operand.data, operand.bytes, device.own_stream());
    device.copy_to_device(moved.to, content.data(), operand.bytes);
    moved_.push_back(std::move(moved));
  }
}

void OperandCopy::redirect(std::byte* arguments) const {
  for (const Moved& moved : moved_) {
    const void* pointer = nullptr;
    std::memcpy(static_cast<void*>(&pointer), arguments + moved.from.at, sizeof pointer);
    if (pointer == moved.from.data)
      std::memcpy(arguments + moved.from.at, static_cast<const void*>(&moved.to), sizeof moved.to);
  }
}

}  // namespace vostok::tune
