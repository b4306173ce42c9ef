#include "device/offline/boards.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/field_map.hpp"
#include "base/text.hpp"
#include "device/architecture.hpp"
#include "device/cuda/device_properties.hpp"

namespace vostok::device::offline {

namespace {

struct Board {
  const char* name;
  int capability;
  int multiprocessors;
  int clock_mhz;
  int memory_clock_mhz;
  int memory_bus_bits;
  std::int64_t memory_bytes;
  std::int64_t l2_bytes;
};

constexpr std::int64_t mib = 1 << 20;

/// By capability; the first board of each is the usual one.
constexpr std::array boards = {
    Board{"Tesla T4", 75, 40, 1590, 5001, 256, 15'100 * mib, 4 * mib},
    Board{"NVIDIA A100-SXM4-80GB", 80, 108, 1410, 1593, 5120, 81'100 * mib, 40 * mib},
    Board{"NVIDIA A10", 86, 72, 1695, 6251, 384, 22'600 * mib, 6 * mib},
    Board{"NVIDIA L40S", 89, 142, 2520, 9001, 384, 45'400 * mib, 96 * mib},
    Board{"NVIDIA L4", 89, 58, 2040, 6251, 192, 22'600 * mib, 48 * mib},
    Board{"NVIDIA GeForce RTX 4090", 89, 128, 2520, 10'501, 384, 24'100 * mib, 72 * mib},
    Board{"NVIDIA H200", 90, 132, 1980, 3201, 6144, 150'109'880'320, 60 * mib},
    Board{"NVIDIA H100 80GB HBM3", 90, 132, 1980, 2619, 5120, 81'100 * mib, 50 * mib},
    Board{"NVIDIA B200", 100, 148, 1965, 3996, 8192, 182'600 * mib, 126 * mib},
    Board{"NVIDIA GeForce RTX 5090", 120, 170, 2407, 14'001, 512, 32'100 * mib, 96 * mib},
};

/// Limits of an architecture, from the CUDA programming guide's table of compute capabilities.
struct Limits {
  int least_capability;
  int shared_kib;  ///< of an SM
  int threads;     ///< of an SM
};
constexpr std::array limits = {Limits{75, 64, 1024},   Limits{80, 164, 2048}, Limits{86, 100, 1536},
                               Limits{87, 164, 1536},  Limits{88, 100, 1536}, Limits{90, 228, 2048},
                               Limits{110, 228, 1536}, Limits{120, 100, 1536}};
constexpr int registers = 65536;
constexpr int kib = 1024;

/// The last entry of `list` that is not newer.
template <class List, class Capability>
const auto& not_newer(const List& list, int capability, Capability&& of) {
  const auto* found = &list.front();
  for (const auto& entry : list)
    if (of(entry) <= capability && of(entry) > of(*found)) found = &entry;
  return *found;
}

/// 90 of "sm_90"; 0 if this library does not run on it.
int capability_of(std::string_view architecture) {
  const auto name = parse_architecture(architecture);
  return name && name->suffix.empty() && name->capability >= cuda::oldest_capability ? name->capability : 0;
}

const Board* find_board(std::string_view name) {
  const auto* const found =
      std::find_if(boards.begin(), boards.end(), [&](const Board& board) { return name == board.name; });
  return found == boards.end() ? nullptr : found;
}

const Board& usual_board(int capability) {
  return not_newer(boards, capability, [](const Board& board) { return board.capability; });
}

/// A description of `board` with the limits of `capability`.
Description describe_board(const Board& board, int capability) {
  const Limits& limit = not_newer(limits, capability, [](const Limits& each) { return each.least_capability; });
  const int reserved_kib = capability >= 80 ? 1 : 0;  // for the system, per block
  Description description{.max_shared_bytes = (limit.shared_kib - reserved_kib) * kib,
                          .shared_bytes_per_multiprocessor = limit.shared_kib * kib,
                          .registers_per_multiprocessor = registers,
                          .threads_per_multiprocessor = limit.threads};
  DeviceInfo& info = description.info;
  info.name = board.name;
  info.architecture = fmt::format("sm_{}", capability);
  info.gpu = true;
  info.multiprocessors = board.multiprocessors;
  info.clock_mhz = board.clock_mhz;
  info.memory_clock_mhz = board.memory_clock_mhz;
  info.memory_bytes = board.memory_bytes;
  info.l2_bytes = board.l2_bytes;
  info.peak_fp32_gflops = 2.0 * cuda::fp32_lanes(capability) * board.multiprocessors * board.clock_mhz / 1000.0;
  info.peak_bandwidth_gb = 2.0 * board.memory_bus_bits / 8.0 * board.memory_clock_mhz / 1000.0;
  return description;
}

[[noreturn]] void fail_unknown(const std::string& what) {
  std::string known;
  for (const std::string& name : board_names()) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  fail(ErrorCode::invalid_argument,
       "cannot compile for \"{}\": give an architecture from sm_{} on, the fields of a GPU, or one of: {}", what,
       cuda::oldest_capability, known);
}

Description describe_fields(const std::string& what) {
  const auto fields = parse_field_map(what);
  if (!fields || !fields->contains("architecture")) fail_unknown(what);
  const int capability = capability_of(fields->at("architecture"));
  if (capability == 0) fail_unknown(what);
  const auto text = [&](const char* field) { return fields->contains(field) ? fields->at(field) : std::string(); };
  const auto number = [&](const char* field, auto& value) {
    const std::string digits = text(field);
    if (digits.empty()) return;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || rest != digits.data() + digits.size() || value <= 0)
      fail(ErrorCode::invalid_argument, "cannot compile for \"{}\": {} = {} is no size", what, field, digits);
  };
  const Board* const named = find_board(text("name"));
  Description description = describe_board(named != nullptr ? *named : usual_board(capability), capability);
  if (!text("name").empty()) description.info.name = text("name");
  number("multiprocessors", description.info.multiprocessors);
  number("memory_bytes", description.info.memory_bytes);
  number("l2_bytes", description.info.l2_bytes);
  return description;
}

}  // namespace

std::vector<std::string> board_names() {
  std::vector<std::string> names;
  names.reserve(std::size(boards));
  for (const Board& board : boards) names.emplace_back(board.name);
  return names;
}

Description describe(const std::string& what) {
  if (const Board* const board = find_board(what)) return describe_board(*board, board->capability);
  if (const int capability = capability_of(what); capability != 0)
    return describe_board(usual_board(capability), capability);
  return describe_fields(what);
}

}  // namespace vostok::device::offline
