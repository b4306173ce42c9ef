// What libFuzzer calls.
#include "fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  vostok::fuzz::read_input({reinterpret_cast<const char*>(data), bytes});
  return 0;
}
