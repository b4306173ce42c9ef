// `vostok cache verify` and `prune`.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/unix_time.hpp"
#include "cache/prune.hpp"
#include "cache/summary.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_text.hpp"
#include "cli/number_option.hpp"

namespace vostok::cli {

namespace {

int verify(const std::vector<std::string>& given, const std::vector<std::string>& keys, bool json) {
  std::vector<std::filesystem::path> files(given.begin(), given.end());
  if (files.empty()) files = cache_files_here();
  const std::vector<cache::PublicKey> trusted = public_keys(keys);
  auto array = nlohmann::ordered_json::array();
  bool good = true;
  for (const std::filesystem::path& file : files) {
    const auto faults = cache::faults_of(file, trusted);
    good = good && faults.empty();
    array.push_back({{"path", file.string()}, {"good", faults.empty()}, {"faults", faults}});
    if (json) continue;
    if (faults.empty())
      print(fmt::format("{}: good{}\n", file.string(), trusted.empty() ? "" : ", and signed by a trusted key"));
    for (const std::string& fault : faults) print(fmt::format("{}: {}\n", file.string(), fault));
  }
  if (json) print(json_text(array));
  return good ? exit_success : exit_wrong_result;
}

struct PruneOptions {
  std::string file;
  double older_than_days = 0;
  std::int64_t max_bytes = 0;
  bool banned = false;
  bool lift_bans = false;
  bool stale = false;
  bool json = false;
};

int prune(const PruneOptions& options, bool by_age, bool by_size) {
  cache::PruneSettings settings{.banned = options.banned, .lift_bans = options.lift_bans, .stale = options.stale};
  if (by_age)
    settings.older_than_seconds = static_cast<std::int64_t>(options.older_than_days * static_cast<double>(day_seconds));
  if (by_size) settings.max_bytes = options.max_bytes;
  if (!by_age && !by_size && !options.banned && !options.lift_bans && !options.stale)
    fail(ErrorCode::invalid_argument,
         "cannot prune: say what goes, by --older-than, --max-bytes, --banned, --lift-bans or --stale");
  const cache::Content usual = by_size ? cache::Content::code : cache::Content::tuning;
  const cache::Pruned pruned = cache::prune(cache_file_or_own(options.file, usual), settings, unix_seconds());
  if (options.json)
    print(json_text({{"trials", pruned.trials},
                     {"winners", pruned.winners},
                     {"kernels", pruned.kernels},
                     {"bytes_before", pruned.bytes_before},
                     {"bytes_after", pruned.bytes_after}},
                    one_line));
  else
    print(fmt::format("removed {} trials, {} winners, {} kernels: {} -> {}\n", pruned.trials, pruned.winners,
                      pruned.kernels, kibibytes(pruned.bytes_before), kibibytes(pruned.bytes_after)));
  return exit_success;
}

}  // namespace

void add_cache_verify(CLI::App& parent, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto keys = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false);
  CLI::App& app =
      *parent.add_subcommand("verify", "Check files: their pages, every row, every kernel's digest, their signature");
  app.footer(
      "Exit status: 0 all good, 1 something is wrong.\n"
      "\n"
      "Examples:\n"
      "  vostok cache verify                                     the user's files and those that came with the "
      "library\n"
      "  vostok cache verify code.db --trust team.pub            that this team signed it, too");
  app.add_option("files", *files, "Files (default: the user's and the shipped ones)")->type_name("FILE");
  app.add_option("--trust", *keys, "Public key, by file or digits; the files must be signed by one of them")
      ->type_name("KEY")
      ->take_all();
  app.add_flag("--json", *json, "Print one JSON array");
  app.callback([files, keys, json, &status] { status = verify(*files, *keys, *json); });
}

void add_cache_prune(CLI::App& parent, int& status) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App& app =
      *parent.add_subcommand("prune", "Remove what is old, long unused, known to be bad, or of code that has changed");
  app.footer(
      "Whatever else goes, the trials that ban machine code stay until --lift-bans.\n"
      "\n"
      "Examples:\n"
      "  vostok cache prune --older-than 180                     trials of the user's tuning.db; choices and bans "
      "stay\n"
      "  vostok cache prune --banned                             choices of code that failed elsewhere; the next plan "
      "takes another\n"
      "  vostok cache prune --lift-bans                          after a new driver, say: what failed may be tried "
      "again\n"
      "  vostok cache prune code.db --max-bytes 100000000        the longest unused kernels");
  app.add_option("file", options->file, "File (default: the user's tuning.db; with --max-bytes, code.db)")
      ->type_name("FILE");
  CLI::Option* age = add_number_option(app, "--older-than", options->older_than_days,
                                       Limits<double>{.least = 0, .most = 1e6, .unit = "days"},
                                       "Trials measured, or kernels last used, so many days ago")
                         ->type_name("DAYS");
  CLI::Option* size =
      add_number_option(app, "--max-bytes", options->max_bytes, Limits<std::int64_t>{.least = 0, .unit = "bytes"},
                        "Kernels, the longest unused first, until the rest fits")
          ->type_name("BYTES");
  app.add_flag("--banned", options->banned,
               "Choices and measurements of machine code that was wrong, faulted or hung anywhere; it stays banned");
  app.add_flag("--lift-bans", options->lift_bans,
               "The failures themselves, and what was not tried because of them: that code may run again");
  app.add_flag("--stale", options->stale, "Trials whose config was measured again with newer machine code");
  app.add_flag("--json", options->json, "Print one JSON object");
  app.callback([options, age, size, &status] { status = prune(*options, age->count() > 0, size->count() > 0); });
}

}  // namespace vostok::cli
