#include "base/digest.hpp"

#include <sodium.h>

#include <array>

#include "base/text.hpp"

namespace vostok {

namespace {
constexpr std::size_t digest_bytes = 32;
}

struct Digest::State {
  crypto_generichash_state hash;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  if (sodium_init() < 0) fail(ErrorCode::internal, "cannot initialise libsodium");
  crypto_generichash_init(&state_->hash, nullptr, 0, digest_bytes);
}

Digest::~Digest() = default;

Digest& Digest::add(std::string_view field) {
  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<unsigned char>(field.size() >> (8 * i));
  crypto_generichash_update(&state_->hash, length.data(), length.size());
  crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(field.data()), field.size());
  return *this;
}

Digest& Digest::add(std::int64_t field) { return add(std::to_string(field)); }

std::string Digest::hex() {
  std::array<unsigned char, digest_bytes> bytes{};
  crypto_generichash_final(&state_->hash, bytes.data(), bytes.size());
  std::array<char, 2 * digest_bytes + 1> text{};
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return text.data();
}

std::string digest_of(std::string_view bytes) { return Digest().add(bytes).hex(); }

}  // namespace vostok
