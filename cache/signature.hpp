// Detached Ed25519 signatures (libsodium) of shipped cache files: FILE.sig beside FILE.
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

/// A key file is one line: "vostok public key <digits>" or "vostok secret key <digits>". The secret one is readable
/// only by its owner. Never replaces an existing file. Errors: io_failure, invalid_argument (not such a file).
void write_key(const SigningKey& key, const std::filesystem::path& path);
void write_key(const PublicKey& key, const std::filesystem::path& path);
SigningKey read_signing_key(const std::filesystem::path& path);
PublicKey read_public_key(const std::filesystem::path& path);

/// Parses a user's key: its digits, or the path of its file. Errors: as read_public_key.
PublicKey parse_public_key(const std::string& digits_or_path);

/// FILE.sig.
std::filesystem::path signature_path(const std::filesystem::path& file);

/// A signed file is read into memory whole; this limit is the default limit of a code.db.
constexpr std::int64_t most_signed_bytes = std::int64_t{512} << 20;

/// Writes FILE.sig: the public key and the signature of the file's bytes (Ed25519ph, RFC 8032). Errors: io_failure.
void sign_file(const std::filesystem::path& file, const SigningKey& key);

/// The file's bytes, read once, after checking that one of the keys signed them. Errors: io_failure, with the reason:
/// unsigned, signed by another key, changed since, longer than most_signed_bytes, not a regular file.
std::string signed_bytes(const std::filesystem::path& file, const std::vector<PublicKey>& trusted);

/// The key that FILE.sig names, unchecked; nothing if the file is missing or malformed.
std::optional<PublicKey> signer_of(const std::filesystem::path& file);

}  // namespace vostok::cache
