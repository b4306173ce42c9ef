#include "unit/device/fake_cuda/fake_state.hpp"

#include <cstdlib>
#include <string_view>

#include <vostok/topology.hpp>

namespace vostok::fake {

thread_local CUctx_st* current = nullptr;
thread_local CaptureMode mode = CaptureMode::global;

State& state() {
  static State instance;
  return instance;
}

namespace {

constexpr auto invalid_context = static_cast<Result>(201);

void reset() {
  State& fake = state();
  fake.failures.clear();
  fake.calls.clear();
  fake.log.clear();
  fake.live.clear();
  for (void* memory : fake.memory) std::free(memory);
  fake.memory.clear();
  fake.kept_by_pool = 0;
  fake.user_streams.clear();
  fake.handles.clear();
  fake.streams_made = 0;
  fake.legacy = {.name = "legacy"};
  fake.per_thread = {.name = "per thread"};
  fake.global_capture = false;
  fake.last_launch = {};
  fake.last_tensor_map = {};
  fake.settings = {{"devices", 1}, {"capability_major", 9}, {"capability_minor", 0},
                   {"pools", 1},   {"version", 13000},      {"uuid_first_byte", 0xab}};
  current = nullptr;
  mode = CaptureMode::global;
}

/// Streams that wait for the legacy stream and it for them: all but the library's own.
template <class Action>
void each_blocking_stream(const Action& action) {
  action(state().per_thread);
  for (auto& [name, stream] : state().user_streams) action(stream);
}

/// Whether a call may not use the legacy stream, because a blocking stream is captured. Every call but the question
/// ends that capture.
bool is_barred(const Call& call) {
  if (call.stream != &state().legacy) return false;
  bool barred = false;
  each_blocking_stream([&](CUstream_st& stream) {
    if (stream.capture == CaptureStatus::none) return;
    barred = true;
    if (std::string_view(call.name) != "cuStreamIsCapturing") stream.capture = CaptureStatus::invalidated;
  });
  return barred;
}

}  // namespace

CUstream_st& stream_of(CUstream_st* stream) {
  if (stream == nullptr || stream == legacy_stream) return state().legacy;
  return stream == per_thread_stream ? state().per_thread : *stream;
}

Result drop(const char* what) {
  --state().live[what];
  return Result::success;
}

Result run(const Call& call, const std::function<Result()>& body) {
  State& fake = state();
  const std::lock_guard lock(fake.mutex);
  ++fake.calls[call.name];
  fake.log += call.name;
  if (call.stream != nullptr) fake.log += " " + call.stream->name;
  fake.log += '\n';
  Failure& failure = fake.failures[call.name];
  if (failure.after > 0) {
    --failure.after;
  } else if (failure.times > 0) {
    --failure.times;
    return failure.code;
  }
  if (call.needs_context && current == nullptr) return invalid_context;
  if (is_barred(call)) return Result::capture_implicit;
  if (call.unsafe_in_capture && fake.global_capture && mode != CaptureMode::relaxed) return Result::capture_unsupported;
  return body();
}

}  // namespace vostok::fake

extern "C" const vostok::fake::Controls* fake_cuda_controls() {
  using namespace vostok::fake;

  static const vostok::fake::Controls controls{
      .reset = reset,
      .fail =
          [](const char* name, int after, int times, unsigned code) {
            state().failures[name] = {.after = after, .times = times, .code = static_cast<Result>(code)};
          },
      .calls = [](const char* name) { return state().calls[name]; },
      .log = [] { return state().log.c_str(); },
      .live = [](const char* what) { return state().live[what]; },
      .set = [](const char* setting, int value) { state().settings[setting] = value; },
      .user_stream =
          [](const char* name) {
            return &state().user_streams.try_emplace(name, CUstream_st{.name = name}).first->second;
          },
      .stall = [](StreamHandle stream, bool stalled) { stream_of(stream).stalled = stalled; },
      .capture = [](StreamHandle stream, CaptureStatus status) { stream_of(stream).capture = status; },
      .global_capture = [](bool active) { state().global_capture = active; },
      .make_context = [](int device) -> ContextHandle {
        static std::map<int, CUctx_st> made;
        return &made.try_emplace(device, CUctx_st{.device = device}).first->second;
      },
      .current_context = [] { return current; },
      .set_current_context = [](ContextHandle context) { current = context; },
      .thread_mode = [] { return mode; },
      .last_launch = [] { return state().last_launch; },
      .kept_by_pool = [] { return state().kept_by_pool; },
      .last_tensor_map = [] { return state().last_tensor_map; }};
  return &controls;
}
