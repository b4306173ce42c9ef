// Detached Ed25519 signatures (libsodium) of cache files that are shipped: FILE.sig beside FILE.
#pragma once

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

/// Writes FILE.sig: the public key and the signature of the file's bytes (Ed25519ph, RFC 8032: the file is hashed in pieces, so that its
/// size does not matter). Errors: io_failure.
void sign_file(const std::filesystem::path& file, const SigningKey& key);

/// Why the file is not to be believed: unsigned, signed by a key that is none of these, or changed since it was signed. Nothing: it is
/// what one of the keys signed. Never throws for what lies in either file.
std::optional<std::string> doubt_signature(const std::filesystem::path& file, const std::vector<PublicKey>& trusted);

/// The key that FILE.sig names, without checking anything; nothing where there is no such file or it is malformed.
std::optional<PublicKey> signer_of(const std::filesystem::path& file);

}  // namespace vostok::cache
