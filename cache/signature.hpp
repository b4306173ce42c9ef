// Detached Ed25519 signatures (libsodium) of cache files that are shipped: FILE.sig beside FILE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vostok::cache {

/// 64 lower-case hexadecimal digits.
struct PublicKey {
  std::string hex;
  friend bool operator==(const PublicKey&, const PublicKey&) = default;
};

struct SigningKey {
  std::string hex;  ///< 128 digits: the secret
  PublicKey public_key;
};

SigningKey make_signing_key();

/// A key file is one line: "vostok public key <digits>" or "vostok secret key <digits>". The secret one is made readable by its owner alone.
/// Neither replaces a file that is there. Errors: io_failure, invalid_argument (not such a file).
void write_key(const SigningKey& key, const std::filesystem::path& path);
void write_key(const PublicKey& key, const std::filesystem::path& path);
SigningKey read_signing_key(const std::filesystem::path& path);
PublicKey read_public_key(const std::filesystem::path& path);

/// What a user writes for a key: its digits, or the path of its file. Errors: as read_public_key.
PublicKey parse_public_key(const std::string& digits_or_path);

/// FILE.sig.
std::filesystem::path signature_path(const std::filesystem::path& file);

/// What is signed is read into memory as a whole: as many bytes as a code.db has at most by default.
constexpr std::int64_t most_signed_bytes = std::int64_t{512} << 20;

/// Writes FILE.sig: the public key and the signature of the file's bytes (Ed25519ph, RFC 8032). Errors: io_failure.
void sign_file(const std::filesystem::path& file, const SigningKey& key);

/// The file's bytes, read once, as one of the keys signed them. Errors: io_failure, saying why they are not to be believed: unsigned, signed by
/// another key, not what was signed, longer than most_signed_bytes, no regular file.
std::string signed_bytes(const std::filesystem::path& file, const std::vector<PublicKey>& trusted);

/// The key that FILE.sig names, without checking anything; nothing where there is no such file or it is malformed.
std::optional<PublicKey> signer_of(const std::filesystem::path& file);

}  // namespace vostok::cache
