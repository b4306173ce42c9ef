// Keys and digests: BLAKE2b over length-framed fields (libsodium).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace vostok {

/// Accumulates fields; each is framed by its length, so ("ab","c") and ("a","bc") differ.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  Digest& add(std::string_view field);
  Digest& add(std::int64_t field);
  /// 64 lower-case hexadecimal digits (256 bits). Ends the accumulation.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Digest of one field.
std::string digest_of(std::string_view bytes);

}  // namespace vostok
