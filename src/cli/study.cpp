#include "cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cache/replace_file.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "sparse/read.hpp"
#include "sparse/study.hpp"

namespace vostok::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* study_examples =
    "Folders are searched, with their subfolders, for .smtx, .mtx, .npy (each also as .gz) and .npz files. A file that "
    "cannot be\n"
    "read is reported at the end and makes the exit status 2; the others count all the same.\n"
    "\n"
    "Examples:\n"
    "  vostok study layer.smtx                            one matrix\n"
    "  vostok study dlmc/ --out results                   a collection: results/study.csv and results/study.svg";

struct StudyOptions {
  std::vector<std::string> paths;
  std::string out = ".";
};

struct Study {
  std::vector<sparse::StudyEntry> entries;
  std::vector<std::string> failures;
};

/// The matrices in and below a folder, sorted by path.
std::vector<fs::path> find_matrices(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    if (entry.is_regular_file() && sparse::has_known_extension(entry.path())) files.push_back(entry.path());
  if (files.empty())
    fail(ErrorCode::io_failure, "cannot study {}: there is no {} file below it", folder.string(),
         sparse::known_extensions);
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs one step; a failure is recorded as a sentence, and the rest continues.
template <class Step>
void attempt(Study& study, const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    study.failures.emplace_back(error.what());
  }
}

void add_file(Study& study, const fs::path& file) {
  const sparse::Csr csr = sparse::read(file);
  study.entries.push_back({.file = file.string(),
                           .statistics = sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices)});
}

Study make_study(const std::vector<std::string>& paths) {
  Study study;
  for (const std::string& path : paths) {
    attempt(study, [&] {
      const std::vector<fs::path> files = fs::is_directory(path) ? find_matrices(path) : std::vector<fs::path>{path};
      for (const fs::path& file : files) attempt(study, [&] { add_file(study, file); });
    });
  }
  return study;
}

void write_study(const Study& study, const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) fail(ErrorCode::io_failure, "cannot make the folder {}: {}", folder.string(), failure.message());
  cache::replace_file(folder / "study.csv", sparse::study_csv(study.entries));
  cache::replace_file(folder / "study.svg", sparse::study_svg(study.entries));
  print(fmt::format("\nwritten: {}, {}\n", (folder / "study.csv").string(), (folder / "study.svg").string()));
}

int run_study(const StudyOptions& options) {
  Study study = make_study(options.paths);
  if (!study.entries.empty()) {
    print(sparse::study_text(study.entries));
    attempt(study, [&] { write_study(study, options.out); });
    attempt(study, flush_output);  // the failures come last on a terminal
  }
  for (const std::string& failure : study.failures) tell(failure);
  return study.failures.empty() ? exit_success : exit_bad_input;
}

}  // namespace

void add_study(CLI::App& parent, int& status) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App& app = *parent.add_subcommand(
      "study", "Sparsity, mean row length and row CoV of matrices (section II of the SC20 paper)");
  app.footer(study_examples);
  app.add_option("files", options->paths, "Matrices, or folders of them")->type_name("FILES")->required();
  app.add_option("--out", options->out, "Folder that study.csv and study.svg are written to")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.callback([options, &status] { status = run_study(*options); });
}

}  // namespace vostok::cli
