#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "base/text.hpp"
#include "cache/cache.hpp"
#include "cache/location.hpp"
#include "cli/cache_commands.hpp"
#include "cli/commands.hpp"
#include "sparse/text_file.hpp"

namespace vostok::cli {

namespace {

constexpr const char* cache_examples =
    "FILE is a tuning.db (what was measured and chosen) or a code.db (compiled kernels). Without FILE, a command works "
    "on the user's own:\n"
    "VOSTOK_CACHE_DIR, XDG_CACHE_HOME/vostok or HOME/.cache/vostok.\n"
    "\n"
    "Examples:\n"
    "  vostok cache ls                                         the files in use, and what they hold\n"
    "  vostok cache show --operation spmm                      every choice, and how much faster than the default it "
    "is\n"
    "  vostok cache merge a.db b.db c.db --out fleet.db        what a fleet found, as one file\n"
    "  vostok cache dump fleet.db --out fleet.tuning.txt       the same as text, for review\n"
    "  vostok cache load fleet.tuning.txt                      into the user's own tuning.db\n"
    "  vostok cache sign code.db --key team.key                so that containers can demand this team's kernels\n"
    "  vostok cache COMMAND --help                             every option of a command, with more examples";

std::filesystem::path user_folder() {
  const cache::Location location = cache::locate({});
  if (!location.folder) fail(ErrorCode::io_failure, "cannot find the cache: {}", location.from);
  return *location.folder;
}

void add_if_there(std::vector<std::filesystem::path>& files, const std::filesystem::path& folder) {
  for (const cache::Content content : {cache::Content::tuning, cache::Content::code}) {
    const auto file = folder / cache::file_name(content);
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) files.push_back(file);
  }
}

}  // namespace

std::filesystem::path user_cache_file(cache::Content content) { return user_folder() / cache::file_name(content); }

std::filesystem::path cache_file_or_own(const std::string& given, cache::Content content) {
  return given.empty() ? user_cache_file(content) : std::filesystem::path(given);
}

std::vector<std::filesystem::path> cache_files_here() {
  std::vector<std::filesystem::path> files;
  if (const auto folder = cache::locate({}).folder) add_if_there(files, *folder);
  if (const auto folder = cache::shipped_folder(PathProbe()); folder && folder->is_trusted())
    add_if_there(files, folder->path);
  return files;
}

std::vector<cache::PublicKey> public_keys(const std::vector<std::string>& given) {
  std::vector<cache::PublicKey> keys;
  keys.reserve(given.size());
  for (const std::string& key : given) keys.push_back(cache::parse_public_key(key));
  return keys;
}

std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return sparse::read_bytes(path);
}

std::string kibibytes(std::int64_t bytes) { return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024); }

void add_cache(CLI::App& parent, int& status) {
  CLI::App& app = *parent.add_subcommand("cache", "List, move, merge, check and sign what was tuned and compiled");
  app.require_subcommand(1);
  app.footer(cache_examples);
  add_cache_ls(app, status);
  add_cache_show(app, status);
  add_cache_dump(app, status);
  add_cache_load(app, status);
  add_cache_merge(app, status);
  add_cache_verify(app, status);
  add_cache_prune(app, status);
  add_cache_rank(app, status);
  add_cache_regret(app, status);
  add_cache_keygen(app, status);
  add_cache_sign(app, status);
}

}  // namespace vostok::cli
