// What the fake driver remembers, and the frame around its every call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "unit/device/fake_cuda/fake_cuda.hpp"

// The driver's tags, given a body here.
struct CUctx_st {
  int device;
};
struct CUstream_st {
  std::string name;
  bool stalled = false;
  vostok::device::cuda::CaptureStatus capture = vostok::device::cuda::CaptureStatus::none;
};
struct CUevent_st {
  CUstream_st* pending_on = nullptr;
};
struct CUfunc_st {
  std::size_t argument_bytes;
};
struct CUkern_st : CUfunc_st {};
struct CUlib_st {
  std::string image;
  CUkern_st function;
};
struct CUmod_st : CUlib_st {};
struct CUgraph_st {};
struct CUmemPoolHandle_st {};
struct CUgraphExec_st {};

namespace vostok::fake {

using namespace device::cuda;

inline constexpr std::size_t memory_limit = std::size_t{1} << 30;

struct Failure {
  int after = 0;
  int times = 0;
  Result code = Result::success;
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::map<std::string, int> live;
  std::map<std::string, int> settings;
  std::string log;
  CUstream_st legacy{.name = "legacy"};
  CUstream_st per_thread{.name = "per thread"};
  std::map<std::string, CUstream_st> user_streams;
  std::vector<std::shared_ptr<void>>
      handles;  // owned here until the reset, so that a leak of the library is only a count
  std::set<void*> memory;
  std::uint64_t kept_by_pool = 0;
  bool global_capture = false;
  int streams_made = 0;
  CUctx_st primary{.device = 0};
  Launch last_launch{};
  TensorMapCall last_tensor_map{};
};

State& state();

/// Of the calling thread.
extern thread_local CUctx_st* current;
extern thread_local CaptureMode mode;

/// What a handle stands for: the driver has names of its own for the legacy stream and the calling thread's.
CUstream_st& stream_of(CUstream_st* stream);

/// Makes a handle and counts it; `drop` counts it out.
template <class Handle>
Handle* make(const char* what, Handle value = {}) {
  ++state().live[what];
  auto handle = std::make_shared<Handle>(std::move(value));
  state().handles.push_back(handle);
  return handle.get();
}
Result drop(const char* what);

struct Call {
  const char* name;
  bool needs_context = false;
  bool unsafe_in_capture = false;
  const CUstream_st* stream = nullptr;
};

/// What every call does first: it is counted and logged, fails where told to, and checks context and capture mode.
Result run(const Call& call, const std::function<Result()>& body);

}  // namespace vostok::fake
