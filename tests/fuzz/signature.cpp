// Signatures and keys: bytes that nobody signed are not believed, and a key that is read is written as it was.
#include "cache/signature.hpp"
#include "base/temporary_folder.hpp"
#include "fuzz/input.hpp"

namespace {

constexpr const char* trusted = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c";

}  // namespace

void vostok::fuzz::read_input(std::string_view bytes) {
  static const TemporaryFolder folder;
  static const std::filesystem::path file = folder.write("code.db", "kernels");
  folder.write("code.db.sig", bytes);
  require(!takes([&] { cache::signed_bytes(file, {cache::parse_public_key(trusted)}); }),
          "a file that nobody signed is not believed");
  takes([&] { cache::signer_of(file); });
  const auto key = folder.write("key", bytes);
  takes([&] { cache::parse_public_key(cache::read_public_key(key).hex); });
  takes([&] { cache::read_signing_key(key); });
}
