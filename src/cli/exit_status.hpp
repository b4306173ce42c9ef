// The tool's exit statuses, for scripts.
#pragma once

#include <vostok/error.hpp>

namespace vostok::cli {

enum ExitStatus : int {
  exit_success = 0,       ///< done, and for `run`: verified
  exit_wrong_result = 1,  ///< computed, but the result differs from the float64 reference
  exit_bad_input = 2,     ///< bad usage, file or value
  exit_cannot_run = 3,    ///< this machine could not do it: no device, no compiler, no memory, a device failure
  exit_interrupted = 130  ///< by Ctrl-C: as shells have it, 128 + SIGINT
};

constexpr ExitStatus exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_topology:
    case ErrorCode::unsupported:
    case ErrorCode::misaligned_pointer:
    case ErrorCode::wrong_device:
    case ErrorCode::format_mismatch:
    case ErrorCode::io_failure: return exit_bad_input;
    case ErrorCode::capture_active:
    case ErrorCode::no_device:
    case ErrorCode::no_compiler:
    case ErrorCode::missing_kernel:
    case ErrorCode::missing_choice:
    case ErrorCode::compile_failed:
    case ErrorCode::out_of_memory:
    case ErrorCode::device_failure:
    case ErrorCode::internal:
    case ErrorCode::after_fork: return exit_cannot_run;
  }
  return exit_cannot_run;
}

}  // namespace vostok::cli
