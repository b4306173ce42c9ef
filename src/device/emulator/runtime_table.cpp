// Built without -fsanitize=thread, as block.cpp says.
#include "device/emulator/runtime_table.hpp"

#include "device/emulator/block.hpp"

namespace vostok::device::emulator {
namespace {

using vostok_emulator::AsyncCopy;
using vostok_emulator::BarrierKind;
using vostok_emulator::Place;
using vostok_emulator::Thread;
using vostok_emulator::WarpRequest;

CudaThread& own(Thread* thread) { return *static_cast<CudaThread*>(thread); }

constexpr vostok_emulator::Runtime table = {
    .barrier = [](Thread* thread, BarrierKind kind, int value,
                  Place place) { return own(thread).owner->barrier(own(thread), kind, value, place); },
    .warp = [](Thread* thread,
               const WarpRequest* request) { own(thread).owner->warp_operation(own(thread), *request); },
    .copy_later = [](Thread* thread, const AsyncCopy* copy) { own(thread).copies.add(*copy); },
    .commit_copies = [](Thread* thread) { own(thread).copies.commit(); },
    .take_copy = [](Thread* thread, int pending_groups,
                    AsyncCopy* copy) { return own(thread).copies.take(pending_groups, copy); },
    .fail = [](Thread* thread, const char* reason,
               Place place) { own(thread).owner->fail_thread(own(thread), reason, place); },
};

}  // namespace

const vostok_emulator::Runtime& runtime_table() { return table; }

}  // namespace vostok::device::emulator
