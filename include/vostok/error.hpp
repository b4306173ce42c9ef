#pragma once

#include <stdexcept>
#include <string>

namespace vostok {

/// What went wrong, for programs. The message is for people: "cannot <verb> <object>: <reason>".
enum class ErrorCode {
  invalid_argument,    ///< a field or argument has a value that makes no sense
  invalid_topology,    ///< the CSR arrays are not a valid sparse matrix; names row and value
  unsupported,         ///< legal, but not implemented for this combination; names the field
  misaligned_pointer,  ///< a pointer breaks the alignment that the problem declared
  wrong_device,        ///< objects of different contexts were mixed
  format_mismatch,     ///< packed values of another topology or format
  capture_active,      ///< the stream is being captured and the call may allocate or compile
  no_device,           ///< no usable GPU or driver
  no_compiler,         ///< NVRTC (or, on the emulator, a host compiler) was not found
  missing_kernel,      ///< compiling was forbidden and no stored kernel fits; names all that are missing
  missing_choice,  ///< Options::cache_only, and no tuned choice is stored for the problem; names all that is missing
  compile_failed,  ///< the compiler refused generated code
  out_of_memory,   ///< names the bytes asked for
  device_failure,  ///< the driver reported an error; carries its name and text
  io_failure,      ///< a file could not be read or written
  internal,        ///< a broken promise inside the library
  after_fork       ///< the context was made before this process was forked off, and cannot be used in it
};

/// The enumerator as text, e.g. "invalid_topology".
const char* name(ErrorCode code);

/// The one exception type of the library.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace vostok
