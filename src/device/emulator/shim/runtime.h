// What a generated kernel and the emulator agree on. Compiled by both, so it includes nothing: the
// kernel's translation unit has no standard header.
#pragma once

namespace vostok_emulator {

struct Index {
  unsigned x;
  unsigned y;
  unsigned z;
};

/// Where a barrier, a warp operation or a failure stands in the template's text.
struct Place {
  const char* file;
  int line;
};

/// One CUDA thread as its kernel sees it.
struct Thread {
  Index thread;
  Index block;
  Index block_size;
  Index grid_size;
  unsigned lane;
  unsigned char* shared_begin;
  long long shared_bytes;
};

enum class BarrierKind : int { plain, any, all, count };

enum class WarpKind : int {
  synchronize,  ///< nothing is exchanged
  vote,         ///< out[0]: one bit per lane, set where in[0] is not zero
  exchange,     ///< out[0]: in[0] of lane `source`
  gather        ///< out[lane * words + i]: in[i] of every lane
};

/// What one lane brings to a warp operation. Lanes that take no part read as all ones, which is NaN.
struct WarpRequest {
  WarpKind kind;
  unsigned mask;
  Place place;
  const unsigned long long* in;
  unsigned long long* out;
  int words;
  unsigned source;
};

/// Copies `source_bytes` and fills up to `bytes` with zeros.
struct AsyncCopy {
  unsigned char* to;
  const unsigned char* from;
  int bytes;
  int source_bytes;
};

/// The emulator's functions, handed to a kernel when it is loaded, so that a kernel resolves nothing from the
/// executable.
struct Runtime {
  int (*barrier)(Thread*, BarrierKind, int value, Place);
  void (*warp)(Thread*, const WarpRequest*);
  void (*copy_later)(Thread*, const AsyncCopy*);
  void (*commit_copies)(Thread*);
  /// Takes the oldest copy of a group that is not among the newest `pending_groups`; false where there is none.
  bool (*take_copy)(Thread*, int pending_groups, AsyncCopy*);
  void (*fail)(Thread*, const char* reason, Place);  ///< does not return
};

// A kernel's library exports three functions.
using BindFunction =
    unsigned long long(const Runtime*);  ///< vostok_bind: takes the table, gives the size of the kernel's parameter
using SlotFunction = Thread**();         ///< vostok_slot: where this OS thread's current CUDA thread is kept
using KernelFunction = void(const void* arguments);  ///< vostok_kernel: runs the current thread

}  // namespace vostok_emulator
