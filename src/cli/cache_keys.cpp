// `vostok cache keygen` and `sign`.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "cache/signature.hpp"
#include "cache/summary.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"

namespace vostok::cli {

namespace {

int make_keys(const std::string& name) {
  if (name.empty() || name.ends_with('/'))
    fail(ErrorCode::invalid_argument, "cannot make keys: '{}' names no file", name);
  const cache::SigningKey key = cache::make_signing_key();
  cache::write_key(key, name + ".key");
  cache::write_key(key.public_key, name + ".pub");
  print(fmt::format("{}.key: keep it secret\n{}.pub: for CacheOptions::trusted_keys, as a file or by its digits\n{}\n",
                    name, name, key.public_key.hex));
  return exit_success;
}

int sign(const std::vector<std::string>& files, const std::string& key_file) {
  const cache::SigningKey key = cache::read_signing_key(key_file);
  for (const std::string& file : files) {
    cache::summarise(file);  // refuses anything but a cache file
    cache::sign_file(file, key);
    print(cache::signature_path(file).string() + "\n");
  }
  return exit_success;
}

}  // namespace

void add_cache_keygen(CLI::App& parent, int& status) {
  auto name = std::make_shared<std::string>();
  CLI::App& app = *parent.add_subcommand("keygen", "Make a pair of keys (Ed25519) to sign files with");
  app.footer(
      "Examples:\n"
      "  vostok cache keygen team                                team.key (secret) and team.pub");
  app.add_option("name", *name, "The files are NAME.key and NAME.pub; neither may be there")
      ->type_name("NAME")
      ->required();
  app.callback([name, &status] { status = make_keys(*name); });
}

void add_cache_sign(CLI::App& parent, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto key = std::make_shared<std::string>();
  CLI::App& app = *parent.add_subcommand("sign", "Sign files: FILE.sig is written beside each");
  app.footer(
      "A program that sets CacheOptions::trusted_keys uses kernels of read-only and shipped files only where FILE.sig "
      "is by one of those keys.\n"
      "\n"
      "Examples:\n"
      "  vostok cache sign code.db tuning.db --key team.key\n"
      "  vostok cache verify code.db --trust team.pub            what the program will think of it");
  app.add_option("files", *files, "Cache files")->type_name("FILE")->required();
  app.add_option("--key", *key, "The secret key's file")->type_name("FILE")->required();
  app.callback([files, key, &status] { status = sign(*files, *key); });
}

}  // namespace vostok::cli
