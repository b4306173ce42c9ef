#include <vostok/error.hpp>

namespace vostok {

const char* name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::invalid_topology: return "invalid_topology";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::misaligned_pointer: return "misaligned_pointer";
    case ErrorCode::wrong_device: return "wrong_device";
    case ErrorCode::format_mismatch: return "format_mismatch";
    case ErrorCode::capture_active: return "capture_active";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::no_compiler: return "no_compiler";
    case ErrorCode::missing_kernel: return "missing_kernel";
    case ErrorCode::missing_choice: return "missing_choice";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::device_failure: return "device_failure";
    case ErrorCode::io_failure: return "io_failure";
    case ErrorCode::internal: return "internal";
    case ErrorCode::after_fork: return "after_fork";
  }
  return nullptr;
}

}  // namespace vostok
