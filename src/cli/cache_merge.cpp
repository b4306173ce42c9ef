// `vostok cache merge` and `rank`.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "cache/dump.hpp"
#include "cache/layer_file.hpp"
#include "cache/merge.hpp"
#include "cache/rank.hpp"
#include "cache/replace_file.hpp"
#include "cache/summary.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/enum_option.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_text.hpp"
#include "cli/number_option.hpp"

namespace vostok::cli {

namespace {

bool holds_code(const std::string& file) {
  try {
    return cache::content_in(file) == cache::Content::code;
  } catch (const Error&) {
    return false;  // not readable: the later read reports why
  }
}

void merge_tuning(const std::vector<std::string>& files, const std::string& out) {
  cache::TuningContent all = cache::read_content(files.front());
  for (std::size_t i = 1; i < files.size(); ++i) all = cache::merged(all, cache::read_content(files[i]));
  print(fmt::format("{} winners, {} trials\n", all.winners.size(), all.trials.size()));
  cache::write_content(std::move(all), out);
}

/// Opens a file's kernels. Merged kernels lose their signature and place, so only kernels that could be used
/// from their own file are taken.
std::unique_ptr<cache::Connection> open_kernels(const std::string& file, const std::vector<cache::PublicKey>& trusted) {
  const bool needs_key = !trusted_path(file).is_trusted();
  try {
    return cache::open_to_read({.kind = cache::LayerKind::read_only,
                                .content = cache::Content::code,
                                .path = file,
                                .lock_timeout_ms = cache::tool_lock_timeout_ms,
                                .trusted_keys = needs_key ? trusted : std::vector<cache::PublicKey>()},
                               PathProbe());
  } catch (const cache::DatabaseError& error) {
    fail(ErrorCode::io_failure, "cannot merge {}: {}{}", file, error.what(),
         needs_key && trusted.empty() ? " (--trust KEY)" : "");
  }
}

void merge_kernels(const std::vector<std::string>& files, const std::vector<cache::PublicKey>& trusted,
                   const std::string& out) {
  const TemporaryFolder steps;
  const auto make = [&](std::size_t step) {
    auto file = std::make_unique<cache::Connection>(steps / fmt::format("{}.db", step), cache::Access::read_write,
                                                    cache::tool_lock_timeout_ms);
    cache::make_schema(*file, cache::Content::code);
    return file;
  };
  auto all = make(0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto both = make(i + 1);
    cache::merge_code(*all, *open_kernels(files[i], trusted), *both);
    all = std::move(both);
  }
  all.reset();
  cache::replace_file(out, [&](const std::filesystem::path& fresh) {
    std::filesystem::copy_file(steps / fmt::format("{}.db", files.size()), fresh);
  });
  print(fmt::format("{} kernels\n", cache::summarise(out).kernels));
}

int merge(const std::vector<std::string>& files, const std::vector<std::string>& keys, const std::string& out) {
  cache::require_replaceable(out);
  const bool code = holds_code(files.front());
  for (const std::string& file : files)
    if (holds_code(file) != code)
      fail(ErrorCode::invalid_argument, "cannot merge {} and {}: one holds kernels, the other tuning rows",
           files.front(), file);
  if (code) merge_kernels(files, public_keys(keys), out);
  else merge_tuning(files, out);
  return exit_success;
}

struct RankOptions {
  std::string file;
  std::string out;
  cache::RankSettings settings;
  std::optional<Policy> policy;
  bool json = false;
};

std::string choice_text(const cache::WinnerRow& row) {
  return row.winner.family.empty()
             ? "nothing"
             : fmt::format("{} {} ({:.2f} us)", row.winner.family, to_text(row.winner.config), row.winner.median_us);
}

void print_changes(const cache::Ranking& ranking) {
  for (const cache::RankChange& change : ranking.changes) {
    const plan::Features& f = change.after.problem.features;
    print(fmt::format("{} m {} k {} n {} nonzeros {}, {}, on {}: {} -> {}\n", change.after.problem.operation, f.m, f.k,
                      f.n, f.nonzeros, change.after.problem.policy, change.after.device.name,
                      choice_text(change.before), choice_text(change.after)));
  }
  print(fmt::format("{} of {} winners changed\n", ranking.changes.size(), ranking.subjects));
}

int rank(RankOptions options) {
  if (!options.out.empty()) cache::require_replaceable(options.out);
  if (options.policy) options.settings.policy = name(*options.policy);
  const std::filesystem::path file = cache_file_or_own(options.file, cache::Content::tuning);
  cache::Ranking ranking = cache::ranked(cache::read_content(file), options.settings);
  if (options.json) print(json_text({{"winners", ranking.subjects}, {"changed", ranking.changes.size()}}, one_line));
  else print_changes(ranking);
  if (!options.out.empty()) cache::write_content(std::move(ranking.content), options.out);
  return exit_success;
}

}  // namespace

void add_cache_merge(CLI::App& parent, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto out = std::make_shared<std::string>();
  auto keys = std::make_shared<std::vector<std::string>>();
  CLI::App& app =
      *parent.add_subcommand("merge", "Several files as one: the order in which they are named decides nothing");
  app.footer(
      "Files are tuning.db or dumps of them, or all code.db. Of rows of one name the better stays. Trials: a failure "
      "stands, then more\n"
      "rounds, then the smaller median. Winners: the newer library, more rounds, the smaller median. Kernels: the "
      "newer compiler. What is\n"
      "equal in that is decided by the rows' digests, so that merging A and B gives the same bytes as merging B and "
      "A.\n"
      "Kernels are taken of files that nobody but root and you can have written, and of those that a trusted key has "
      "signed.\n"
      "\n"
      "Examples:\n"
      "  vostok cache merge node1.db node2.db --out fleet.db\n"
      "  vostok cache merge sm80.db sm90.db --out code.db        kernels of two packs\n"
      "  vostok cache merge /shared/a.db /shared/b.db --trust team.pub --out code.db");
  app.add_option("files", *files, "Files")->type_name("FILE")->required();
  app.add_option("--out", *out, "File to make; one that is there is replaced")->type_name("FILE")->required();
  app.add_option("--trust", *keys, "Public key, by file or digits: kernels that it signed are taken from anywhere")
      ->type_name("KEY")
      ->take_all();
  app.callback([files, keys, out, &status] { status = merge(*files, *keys, *out); });
}

void add_cache_rank(CLI::App& parent, int& status) {
  auto options = std::make_shared<RankOptions>();
  CLI::App& app = *parent.add_subcommand("rank", "Choose the winners again from the stored trials, without a GPU");
  app.footer(
      "Of each config its newest code counts; code that failed, and what errata mask, is out. The same trials give the "
      "same bytes.\n"
      "\n"
      "Examples:\n"
      "  vostok cache rank fleet.db --out ranked.db              every policy\n"
      "  vostok cache rank fleet.db --policy cold --tie 0.05     what would change if 5 % counted as equal; nothing is "
      "written");
  app.add_option("file", options->file, "File, or a dump of one (default: the user's tuning.db)")->type_name("FILE");
  app.add_option("--out", options->out,
                 "File to make with the winners chosen anew (default: only say what would change)")
      ->type_name("FILE");
  add_enum_option(app, "--policy", options->policy, "Only problems measured this way, warm or cold (default: both)");
  add_default_number_option(app, "--tie", options->settings.tie, Limits<double>{.least = 0, .most = 1},
                            "Candidates within this share of the best count as equal")
      ->type_name("SHARE");
  app.add_flag("--json", options->json, "Print one JSON object");
  app.callback([options, &status] { status = rank(*options); });
}

}  // namespace vostok::cli
