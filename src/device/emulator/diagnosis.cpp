// Describes why a block cannot continue. Built without -fsanitize=thread, as block.cpp says.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.hpp"
#include "device/emulator/block.hpp"

namespace vostok::device::emulator {
namespace {

using State = CudaThread::State;
using vostok_emulator::WarpKind;

/// "threads 0-3, 7"
std::string list_threads(const std::vector<int>& ascending) {
  std::string text = ascending.size() == 1 ? "thread " : "threads ";
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += last == i ? fmt::format("{}", ascending[i]) : fmt::format("{}-{}", ascending[i], ascending[last]);
    i = last + 1;
  }
  return text;
}

const char* operation(WarpKind kind) {
  switch (kind) {
    case WarpKind::synchronize: return "__syncwarp";
    case WarpKind::vote: return "vote";
    case WarpKind::exchange: return "shuffle";
    case WarpKind::gather: return "warp-wide instruction";
  }
  return "warp operation";
}

std::string describe(const CudaThread& thread) {
  if (thread.state == State::at_barrier)
    return fmt::format("wait at the barrier of {}:{}", thread.place.file, thread.place.line);
  if (thread.state == State::in_warp_operation)
    return fmt::format("wait in the {} of {}:{} with mask {:#010x}", operation(thread.request->kind), thread.place.file,
                       thread.place.line, thread.request->mask);
  return "have exited";
}

}  // namespace

/// "<cause>: threads 0-30 wait at ..., thread 31 have exited".
std::string Block::describe_stuck() const {
  std::map<std::string, std::vector<int>> groups;
  for (int i = 0; i < launch_->threads(); ++i) groups[describe(threads_[static_cast<std::size_t>(i)])].push_back(i);
  std::string text = describe_cause();
  const char* separator = ": ";
  for (const auto& [what, threads] : groups) {
    text += separator + list_threads(threads) + " " + what;
    separator = ", ";
  }
  return text;
}

std::string Block::describe_cause() const {
  for (int i = 0; i < launch_->threads(); ++i) {
    const CudaThread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.state != State::in_warp_operation) continue;
    const int first = i - static_cast<int>(thread.lane);
    for (int lane = 0; lane < warp_lanes && first + lane < launch_->threads(); ++lane) {
      const CudaThread& other = threads_[static_cast<std::size_t>(first + lane)];
      if ((thread.request->mask >> lane & 1U) != 0 && other.state == State::in_warp_operation &&
          other.request->mask != thread.request->mask)
        return "mismatched masks";
    }
    return "missing lanes in a warp operation";
  }
  return "a barrier waits for exited threads";
}

}  // namespace vostok::device::emulator
