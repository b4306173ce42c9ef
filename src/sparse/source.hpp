// What the readers read: bytes from wherever they came, with a name for messages and a bound on memory.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/host_memory.hpp"
#include "base/text.hpp"

namespace vostok::sparse {

struct Source {
  std::string_view bytes = {};
  std::string name = {};                               ///< what messages call it: the file's path
  std::int64_t memory_bytes = available_host_bytes();  ///< what reading may take beside the bytes
};

[[noreturn]] void refuse(const Source& source, ErrorCode code, const std::string& reason);

/// Asked before a number in the file decides how much is allocated. Errors: out_of_memory naming the file, `what`
/// ("2000000000 rows"), the bytes and what there is.
void require_memory(const Source& source, std::int64_t bytes, const std::string& what);

/// The same for a number of rows, of which the file need not say anything: their offsets may take 1 GiB, or sixteen
/// times the file, so that a few bytes never take all that a machine has. Errors: as require_memory.
void require_rows(const Source& source, std::int64_t rows);

[[noreturn]] void refuse_memory(const Source& source);

/// Runs a reader. Memory that runs out all the same names the file.
template <class Read>
auto read_named(const Source& source, const Read& read_it) {
  try {
    return read_it();
  } catch (const std::bad_alloc&) {
    refuse_memory(source);
  } catch (const std::length_error&) {  // of a container that cannot be as large
    refuse_memory(source);
  }
}

}  // namespace vostok::sparse
