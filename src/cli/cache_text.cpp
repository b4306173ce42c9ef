// `vostok cache dump` and `load`.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "cache/cache.hpp"
#include "cache/dump.hpp"
#include "cache/replace_file.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "device/device.hpp"

namespace vostok::cli {

namespace {

int dump(const std::string& given, const std::string& out) {
  const std::string text = cache::dump(cache_file_or_own(given, cache::Content::tuning));
  if (out.empty()) print_data(text);
  else cache::replace_file(out, text);
  return exit_success;
}

/// The devices whose rows in the user's own file were measured here: rows from elsewhere do not replace them.
std::vector<std::string> devices_here() {
  std::vector<std::string> uuids;
  std::string ignored;
  for (int ordinal = 0; ordinal < device::count_cuda(&ignored); ++ordinal) {
    try {
      uuids.push_back(device::open_cuda(ordinal, {})->info().uuid);
    } catch (const Error&) {
      continue;  // a GPU that cannot be opened has not measured anything today
    }
  }
  return uuids;
}

/// Creates the folder of the user's own file, as the library would.
void make_user_folder(const std::filesystem::path& file) {
  const auto folder = file.parent_path();
  std::error_code failure;
  if (std::filesystem::exists(folder, failure)) return;
  std::filesystem::create_directories(folder, failure);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failure);
}

int load(const std::string& source, const std::string& into) {
  const std::string text = read_text(source);
  const std::string from = source == "-" ? "standard input" : source;
  if (text.empty()) fail(ErrorCode::invalid_argument, "cannot load {}: it is empty", from);
  const std::filesystem::path target = cache_file_or_own(into, cache::Content::tuning);
  if (into.empty()) make_user_folder(target);
  try {
    cache::load(text, target, into.empty() ? devices_here() : std::vector<std::string>());
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", from, error.what());
  }
  return exit_success;
}

}  // namespace

void add_cache_dump(CLI::App& parent, int& status) {
  auto file = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  CLI::App& app = *parent.add_subcommand("dump", "A tuning.db as sorted text: equal content gives equal bytes");
  app.footer(
      "Examples:\n"
      "  vostok cache dump                                       the user's own, to stdout\n"
      "  vostok cache dump fleet.db --out fleet.tuning.txt       as cache/shipped/ of the sources holds it");
  app.add_option("file", *file, "File (default: the user's tuning.db)")->type_name("FILE");
  app.add_option("--out", *out, "File to write (default: stdout)")->type_name("FILE");
  app.callback([file, out, &status] { status = dump(*file, *out); });
}

void add_cache_load(CLI::App& parent, int& status) {
  auto source = std::make_shared<std::string>();
  auto into = std::make_shared<std::string>();
  CLI::App& app = *parent.add_subcommand("load", "Add the rows of a dump to a tuning.db, all or none");
  app.footer(
      "Rows of the same name are replaced; in the user's own file those stay that were measured on this machine's "
      "GPUs.\n"
      "\n"
      "Examples:\n"
      "  vostok cache load fleet.tuning.txt                      into the user's tuning.db\n"
      "  vostok cache load fleet.tuning.txt --into tuning.db     into this one, which is made where it is not there\n"
      "  vostok cache dump a.db | vostok cache load - --into b.db");
  app.add_option("text", *source, "Text as `vostok cache dump` writes it; - for stdin")->type_name("TEXT")->required();
  app.add_option("--into", *into, "File (default: the user's tuning.db)")->type_name("FILE");
  app.callback([source, into, &status] { status = load(*source, *into); });
}

}  // namespace vostok::cli
