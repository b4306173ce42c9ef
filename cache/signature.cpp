#include "cache/signature.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <vostok/error.hpp>

#include "base/bounded_file.hpp"
#include "base/text.hpp"
#include "cache/replace_file.hpp"

namespace vostok::cache {

namespace {

constexpr std::size_t public_bytes = crypto_sign_ed25519_PUBLICKEYBYTES;
constexpr std::size_t secret_bytes = crypto_sign_ed25519_SECRETKEYBYTES;
constexpr std::size_t signature_bytes = crypto_sign_ed25519_BYTES;
constexpr const char* public_title = "vostok public key ";
constexpr const char* secret_title = "vostok secret key ";
constexpr const char* signature_title = "vostok signature 1 ";

void start_sodium() {
  if (sodium_init() < 0) fail(ErrorCode::internal, "cannot initialise libsodium");
}

template <std::size_t Size>
std::string to_hex(const std::array<unsigned char, Size>& bytes) {
  std::array<char, 2 * Size + 1> text{};
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  return text.data();
}

/// Nothing if the text is not exactly this many bytes in hexadecimal digits.
template <std::size_t Size>
std::optional<std::array<unsigned char, Size>> from_hex(std::string_view digits) {
  std::array<unsigned char, Size> bytes{};
  std::size_t written = 0;
  const char* end = nullptr;
  if (digits.size() != 2 * Size) return std::nullopt;
  if (sodium_hex2bin(bytes.data(), bytes.size(), digits.data(), digits.size(), nullptr, &written, &end) != 0)
    return std::nullopt;
  return written == Size && end == digits.data() + digits.size() ? std::optional(bytes) : std::nullopt;
}

/// The first line of a key's or signature's file. Empty if it cannot be read, or is longer than any of them.
std::string first_line(const std::filesystem::path& path) {
  constexpr std::int64_t most_bytes = 4096;
  try {
    const std::string text = read_bounded(path, most_bytes);
    return text.substr(0, text.find('\n'));
  } catch (const Error&) {
    return {};
  }
}

/// The rest of the first line after the title; nothing if it begins otherwise.
std::optional<std::string> after_title(const std::filesystem::path& path, const std::string& title) {
  const std::string line = first_line(path);
  return line.starts_with(title) ? std::optional(line.substr(title.size())) : std::nullopt;
}

std::string key_digits(const std::filesystem::path& path, const char* title, std::size_t digits) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    fail(ErrorCode::io_failure, "cannot read the key {}: it is not there", path.string());
  const auto text = after_title(path, title);
  if (!text || text->size() != digits)
    fail(ErrorCode::invalid_argument, "cannot read the key {}: its line is not \"{}\" and {} digits", path.string(),
         title, digits);
  return *text;
}

void write_new(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0)
    fail(ErrorCode::io_failure, "cannot make {}: {}", path.string(), std::generic_category().message(errno));
  const bool written =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(descriptor) == 0;
  ::close(descriptor);
  if (!written) fail(ErrorCode::io_failure, "cannot write {}", path.string());
}

crypto_sign_ed25519ph_state hash_of(std::string_view bytes) {
  crypto_sign_ed25519ph_state state;
  crypto_sign_ed25519ph_init(&state);
  crypto_sign_ed25519ph_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return state;
}

struct Signature {
  PublicKey key;
  std::array<unsigned char, public_bytes> key_bytes;
  std::array<unsigned char, signature_bytes> bytes;
};

std::optional<Signature> read_signature(const std::filesystem::path& file) {
  const auto text = after_title(signature_path(file), signature_title);
  if (!text || text->size() != 2 * public_bytes + 1 + 2 * signature_bytes || (*text)[2 * public_bytes] != ' ')
    return std::nullopt;
  const std::string key = text->substr(0, 2 * public_bytes);
  const auto key_bytes = from_hex<public_bytes>(key);
  const auto bytes = from_hex<signature_bytes>(std::string_view(*text).substr(2 * public_bytes + 1));
  if (!key_bytes || !bytes) return std::nullopt;
  return Signature{.key = {key}, .key_bytes = *key_bytes, .bytes = *bytes};
}

}  // namespace

SigningKey make_signing_key() {
  start_sodium();
  std::array<unsigned char, public_bytes> public_key{};
  std::array<unsigned char, secret_bytes> secret{};
  crypto_sign_ed25519_keypair(public_key.data(), secret.data());
  SigningKey key{.hex = to_hex(secret), .public_key = {to_hex(public_key)}};
  sodium_memzero(secret.data(), secret.size());
  return key;
}

void write_key(const SigningKey& key, const std::filesystem::path& path) {
  write_new(path, secret_title + key.hex + "\n", 0600);
}

void write_key(const PublicKey& key, const std::filesystem::path& path) {
  write_new(path, public_title + key.hex + "\n", 0644);
}

SigningKey read_signing_key(const std::filesystem::path& path) {
  start_sodium();
  SigningKey key{.hex = key_digits(path, secret_title, 2 * secret_bytes), .public_key = {}};
  const auto secret = from_hex<secret_bytes>(key.hex);
  if (!secret)
    fail(ErrorCode::invalid_argument, "cannot read the key {}: it holds more than hexadecimal digits", path.string());
  std::array<unsigned char, public_bytes> public_key{};
  crypto_sign_ed25519_sk_to_pk(public_key.data(), secret->data());
  key.public_key = {to_hex(public_key)};
  return key;
}

PublicKey read_public_key(const std::filesystem::path& path) {
  return parse_public_key(key_digits(path, public_title, 2 * public_bytes));
}

PublicKey parse_public_key(const std::string& digits_or_path) {
  const auto bytes = from_hex<public_bytes>(digits_or_path);
  return bytes ? PublicKey{to_hex(*bytes)} : read_public_key(digits_or_path);
}

std::filesystem::path signature_path(const std::filesystem::path& file) { return file.string() + ".sig"; }

void sign_file(const std::filesystem::path& file, const SigningKey& key) {
  start_sodium();
  const auto secret = from_hex<secret_bytes>(key.hex);
  if (!secret) fail(ErrorCode::io_failure, "cannot sign {}: the key holds more than hexadecimal digits", file.string());
  auto state = hash_of(read_bounded(file, most_signed_bytes));
  std::array<unsigned char, signature_bytes> signature{};
  crypto_sign_ed25519ph_final_create(&state, signature.data(), nullptr, secret->data());
  replace_file(signature_path(file), [&](const std::filesystem::path& fresh) {
    write_new(fresh, signature_title + key.public_key.hex + " " + to_hex(signature) + "\n", 0644);
  });
}

std::string signed_bytes(const std::filesystem::path& file, const std::vector<PublicKey>& trusted) {
  start_sodium();
  std::error_code ignored;
  if (!std::filesystem::exists(signature_path(file), ignored)) fail(ErrorCode::io_failure, "it is not signed");
  const auto signature = read_signature(file);
  if (!signature) fail(ErrorCode::io_failure, "its signature is malformed");
  if (std::find(trusted.begin(), trusted.end(), signature->key) == trusted.end())
    fail(ErrorCode::io_failure, "the key that signed it is not trusted");
  std::string bytes = read_bounded(file, most_signed_bytes);
  auto state = hash_of(bytes);
  const bool is_good =
      crypto_sign_ed25519ph_final_verify(&state, signature->bytes.data(), signature->key_bytes.data()) == 0;
  if (!is_good) fail(ErrorCode::io_failure, "it is not what was signed");
  return bytes;
}

std::optional<PublicKey> signer_of(const std::filesystem::path& file) {
  const auto signature = read_signature(file);
  return signature ? std::optional(signature->key) : std::nullopt;
}

}  // namespace vostok::cache
