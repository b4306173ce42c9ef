// An NVRTC that compiles nothing: its "PTX" and "cubin" are the options it was given.
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

#include <atomic>
#include <cstring>
#include <string>

using vostok::device::cuda::NvrtcResult;

struct _nvrtcProgram {
  std::string output;
  std::string expression;
};

namespace {

struct State {
  int major = 12;
  int minor = 1;
  std::string refused_option;
  int compiles_that_work = 0;
  NvrtcResult result = NvrtcResult::success;
  std::string log;
  std::string given_output;
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVRTC's names
extern "C" {

NvrtcResult nvrtcVersion(int* major, int* minor) {
  return *major = state().major, *minor = state().minor, NvrtcResult::success;
}
const char* nvrtcGetErrorString(NvrtcResult result) {
  return result == NvrtcResult::builtin_operation_failure ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "NVRTC_ERROR";
}
NvrtcResult nvrtcGetNumSupportedArchs(int* count) { return *count = 3, NvrtcResult::success; }
NvrtcResult nvrtcGetSupportedArchs(int* numbers) {
  numbers[0] = 90;  // out of order on purpose
  numbers[1] = 75;
  numbers[2] = 80;
  return NvrtcResult::success;
}
NvrtcResult nvrtcCreateProgram(_nvrtcProgram** program, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return *program = new _nvrtcProgram, NvrtcResult::success;
}
NvrtcResult nvrtcDestroyProgram(_nvrtcProgram** program) {
  delete *program;
  return *program = nullptr, NvrtcResult::success;
}
NvrtcResult nvrtcAddNameExpression(_nvrtcProgram* program, const char* expression) {
  return program->expression = expression, NvrtcResult::success;
}
// Several threads compile at once.
NvrtcResult nvrtcCompileProgram(_nvrtcProgram* program, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    if (state().refused_option == options[i]) return NvrtcResult::invalid_option;
    program->output += std::string(options[i]) + "\n";
  }
  if (!state().given_output.empty()) program->output = state().given_output;
  return std::atomic_ref(state().compiles_that_work)-- > 0 ? NvrtcResult::success : state().result;
}
NvrtcResult nvrtcGetLoweredName(_nvrtcProgram* program, const char* expression, const char** name) {
  if (program->expression != expression) return NvrtcResult::name_expression_not_valid;
  return *name = "lowered", NvrtcResult::success;
}
NvrtcResult nvrtcGetProgramLogSize(_nvrtcProgram*, std::size_t* bytes) {
  return *bytes = state().log.size() + 1, NvrtcResult::success;
}
NvrtcResult nvrtcGetProgramLog(_nvrtcProgram*, char* text) {
  return std::memcpy(text, state().log.c_str(), state().log.size() + 1), NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBINSize(_nvrtcProgram* program, std::size_t* bytes) {
  return *bytes = program->output.size(), NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBIN(_nvrtcProgram* program, char* bytes) {
  return program->output.copy(bytes, program->output.size()), NvrtcResult::success;
}
NvrtcResult nvrtcGetPTXSize(_nvrtcProgram* program, std::size_t* bytes) {
  return *bytes = program->output.size() + 1, NvrtcResult::success;
}
NvrtcResult nvrtcGetPTX(_nvrtcProgram* program, char* text) {
  return std::memcpy(text, program->output.c_str(), program->output.size() + 1), NvrtcResult::success;
}

const vostok::fake::NvrtcControls* fake_nvrtc_controls() {
  static const vostok::fake::NvrtcControls controls{
      .reset = [] { state() = State{}; },
      .set_version = [](int major, int minor) { state().major = major, state().minor = minor; },
      .refuse_option = [](const char* option) { state().refused_option = option; },
      .end_compiles =
          [](int after, NvrtcResult result, const char* log) {
            state().compiles_that_work = after, state().result = result, state().log = log;
          },
      .give_output = [](const char* text) { state().given_output = text; }};
  return &controls;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
