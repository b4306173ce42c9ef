// Built without -fsanitize=thread, like everything that runs between CUDA threads: the only order between them that
// ThreadSanitizer sees comes from the tokens published and observed here.
#include "device/emulator/block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

using vostok_emulator::BarrierKind;
using vostok_emulator::Index;
using vostok_emulator::Place;

namespace {

/// Unwinds a fiber whose block has failed.
struct Cancelled {};

bool same(Place a, Place b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

}  // namespace

Block::Block(std::size_t most_shared_bytes)
    : arena_(most_shared_bytes), threads_(std::make_unique<CudaThread[]>(most_threads)) {}

void Block::run(const Launch& launch, Index index, std::uint64_t number) {
  start(launch, index, number);
  run_ready_threads();
  if (!failure_ && exited_ < launch.threads()) failure_ = describe_stuck();
  if (!failure_) return;
  cancel();
  sanitizer::observe(&failure_);
  vostok::fail(ErrorCode::device_failure, "cannot run kernel {}: block ({}, {}, {}): {}", launch.kernel_name, index.x,
               index.y, index.z, *failure_);
}

void Block::start(const Launch& launch, Index index, std::uint64_t number) {
  const int count = launch.threads();
  stacks_.reserve(static_cast<std::size_t>(count));
  unsigned char* const shared = arena_.reset(launch.shared_bytes);
  launch_ = &launch;
  index_ = index;
  slot_ = launch.slot();
  random_ = Random(launch.order.seed ^ number * 0x9e3779b97f4a7c15);
  ready_.clear();
  warps_ = {};
  barrier_ = {};
  exited_ = 0;
  cancelled_ = false;
  failure_.reset();

  std::array<int, most_threads> order = {};
  for (int i = 0; i < count; ++i) {
    CudaThread& thread = threads_[static_cast<std::size_t>(i)];
    const auto n = static_cast<unsigned>(i);
    thread.thread = {n % launch.block.x, n / launch.block.x % launch.block.y, n / launch.block.x / launch.block.y};
    thread.block = index;
    thread.block_size = launch.block;
    thread.grid_size = launch.grid;
    thread.lane = n % warp_lanes;
    thread.shared_begin = shared;
    thread.shared_bytes = static_cast<long long>(launch.shared_bytes);
    thread.owner = this;
    thread.number = i;
    thread.copies.clear();
    warps_[n / warp_lanes].lanes |= 1U << thread.lane;
    thread.fiber.start(
        stacks_.at(n),
        [](void* argument) {
          static_cast<CudaThread*>(argument)->owner->thread_main(*static_cast<CudaThread*>(argument));
        },
        &thread);
    order[n] = i;
  }
  make_ready(std::span(order).first(static_cast<std::size_t>(count)));
}

void Block::run_ready_threads() {
  while (!failure_ && !ready_.empty()) {
    CudaThread& thread = threads_[static_cast<std::size_t>(ready_.pop())];
    *slot_ = &thread;
    thread.fiber.resume();
  }
}

void Block::cancel() {
  cancelled_ = true;
  for (int i = 0; i < launch_->threads(); ++i) {
    CudaThread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.state == CudaThread::State::exited) continue;
    *slot_ = &thread;
    thread.fiber.resume();
  }
}

void Block::thread_main(CudaThread& thread) {
  try {
    if (!cancelled_) launch_->kernel(launch_->arguments);
  } catch (const Cancelled&) {  // NOLINT(bugprone-empty-catch): only here to unwind
  }
  thread.state = CudaThread::State::exited;
  ++exited_;
  sanitizer::publish(launch_->finished);
}

void Block::wait(CudaThread& thread) {
  thread.fiber.suspend();
  if (cancelled_) throw Cancelled();
}

void Block::make_ready(std::span<int> ascending) {
  arrange(ascending, launch_->order.kind, random_);
  for (const int i : ascending) {
    threads_[static_cast<std::size_t>(i)].state = CudaThread::State::ready;
    ready_.push(i);
  }
}

int Block::barrier(CudaThread& thread, BarrierKind kind, int value, Place place) {
  if (barrier_.arrived == 0) {
    barrier_.kind = kind;
    barrier_.place = place;
    barrier_.first_thread = thread.number;
    barrier_.true_values = 0;
  } else if (barrier_.kind != kind || !same(barrier_.place, place)) {
    fail(fmt::format("divergent barriers: thread {} waits at the barrier of {}:{}, thread {} at that of {}:{}",
                     barrier_.first_thread, barrier_.place.file, barrier_.place.line, thread.number, place.file,
                     place.line));
  }
  const unsigned parity = barrier_.generation % 2;
  thread.state = CudaThread::State::at_barrier;
  thread.place = place;
  barrier_.true_values += value != 0 ? 1 : 0;
  sanitizer::publish(&barrier_.tokens[parity]);
  if (++barrier_.arrived == launch_->threads()) complete_barrier();
  wait(thread);
  sanitizer::observe(&barrier_.tokens[parity]);
  return barrier_.results[parity];
}

void Block::complete_barrier() {
  int& result = barrier_.results[barrier_.generation % 2];
  switch (barrier_.kind) {
    case BarrierKind::plain: break;
    case BarrierKind::any: result = barrier_.true_values > 0 ? 1 : 0; break;
    case BarrierKind::all: result = barrier_.true_values == barrier_.arrived ? 1 : 0; break;
    case BarrierKind::count: result = barrier_.true_values; break;
  }
  ++barrier_.generation;
  barrier_.arrived = 0;
  std::array<int, most_threads> order = {};
  const auto all = std::span(order).first(static_cast<std::size_t>(launch_->threads()));
  std::iota(all.begin(), all.end(), 0);
  make_ready(all);
}

void Block::fail_thread(const CudaThread& thread, const std::string& reason, Place place) {
  fail(fmt::format("thread {}: {}, at {}:{}", thread.number, reason, place.file, place.line));
}

void Block::fail(std::string reason) {
  failure_ = std::move(reason);
  sanitizer::publish(&failure_);
  throw Cancelled();
}

}  // namespace vostok::device::emulator
