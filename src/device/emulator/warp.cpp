// Warp operations: every lane named in a mask arrives with the same operation, then each gets its result. Built without
// -fsanitize=thread, as block.cpp says.
#include <array>
#include <bit>
#include <cstring>

#include "base/text.hpp"
#include "device/emulator/block.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

using vostok_emulator::WarpKind;
using vostok_emulator::WarpRequest;

namespace {

/// Calls `visit(lane)` for each bit of `mask`, ascending.
template <class Visit>
void for_each_lane(unsigned mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(std::countr_zero(mask)));
}

/// Whether two lanes take part in the same operation. A __syncwarp may pair with one elsewhere in the
/// text (PTX ISA, bar.warp.sync).
bool agree(const WarpRequest& a, const WarpRequest& b) {
  if (a.kind != b.kind) return false;
  return a.kind == WarpKind::synchronize ||
         (a.place.line == b.place.line && std::strcmp(a.place.file, b.place.file) == 0);
}

/// Computes the result of `request` from the participating lanes (null: not participating).
void deliver(const WarpRequest& request, const std::array<const WarpRequest*, warp_lanes>& lanes) {
  constexpr unsigned long long nothing = ~0ULL;
  if (request.kind == WarpKind::exchange) {
    const WarpRequest* source = lanes[request.source % warp_lanes];
    request.out[0] = source != nullptr ? source->in[0] : nothing;
  }
  if (request.kind == WarpKind::vote) {
    request.out[0] = 0;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      if (lanes[lane] != nullptr && lanes[lane]->in[0] != 0) request.out[0] |= 1ULL << lane;
  }
  if (request.kind == WarpKind::gather) {
    unsigned long long* out = request.out;
    for (const WarpRequest* lane : lanes)
      for (int word = 0; word < request.words; ++word) *out++ = lane != nullptr ? lane->in[word] : nothing;
  }
}

}  // namespace

void Block::warp_operation(CudaThread& thread, const WarpRequest& request) {
  const int first_thread = thread.number - static_cast<int>(thread.lane);
  Warp& warp = warps_[static_cast<std::size_t>(first_thread / warp_lanes)];
  if ((request.mask >> thread.lane & 1U) == 0)
    fail_thread(thread, fmt::format("its lane {} is not in its own mask {:#010x}", thread.lane, request.mask),
                request.place);
  thread.state = CudaThread::State::in_warp_operation;
  thread.place = request.place;
  thread.request = &request;
  sanitizer::publish(&thread.arrived);
  warp.waiting |= 1U << thread.lane;

  const unsigned members = request.mask & warp.lanes;
  if ((warp.waiting & members) == members) complete_warp_operation(members, first_thread);
  wait(thread);
  sanitizer::observe(&thread.released);
}

void Block::complete_warp_operation(unsigned members, int first_thread) {
  CudaThread* const warp = &threads_[static_cast<std::size_t>(first_thread)];
  const CudaThread* first = nullptr;
  std::array<const WarpRequest*, warp_lanes> requests = {};
  std::array<int, warp_lanes> numbers = {};
  std::size_t count = 0;
  bool complete = true;
  for_each_lane(members, [&](unsigned lane) {
    const CudaThread& thread = warp[lane];
    if (first == nullptr) first = &thread;
    // A lane that waits with another mask may still arrive here after its own operation.
    if (thread.request->mask != first->request->mask) complete = false;
    else if (!agree(*thread.request, *first->request))
      fail(fmt::format("divergent warp operations: thread {} waits in the one of {}:{}, thread {} in that of {}:{}",
                       first->number, first->place.file, first->place.line, thread.number, thread.place.file,
                       thread.place.line));
    requests[lane] = thread.request;
    numbers[count++] = thread.number;
  });
  if (!complete) return;

  for_each_lane(members, [&](unsigned lane) { sanitizer::observe(&warp[lane].arrived); });
  for_each_lane(members, [&](unsigned lane) { deliver(*requests[lane], requests); });
  for_each_lane(members, [&](unsigned lane) { sanitizer::publish(&warp[lane].released); });
  warps_[static_cast<std::size_t>(first_thread / warp_lanes)].waiting &= ~members;
  make_ready(std::span(numbers).first(count));
}

}  // namespace vostok::device::emulator
