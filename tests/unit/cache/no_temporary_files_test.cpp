// Neither a place for temporary files nor a folder that can be written is needed.
#include <doctest/doctest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "cache/dump.hpp"
#include "cache/prune.hpp"
#include "unit/cache/fixture.hpp"
#include "unit/cache/power_cut_files.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

constexpr std::int64_t problems = 10;
constexpr int trials_each = 50;
constexpr std::size_t kernel_bytes = 40000;

void fill(Opening& opening, int kernels) {
  for (std::int64_t n = 1; n <= problems; ++n) {
    std::vector<plan::TrialRecord> trials;
    trials.reserve(trials_each);
    for (int i = 0; i < trials_each; ++i) trials.push_back(sample_trial(std::to_string(1000 * n + i)));
    opening.tuning().add_trials(sample_problem(n), sample_device(), trials);
  }
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  for (int i = 0; i < kernels; ++i)
    opening.code().put(sample_entry("k" + std::to_string(i)), sample_image(kernel_bytes));
}

/// A folder below which nothing can be written, whoever asks.
class ReadOnlyMount {
 public:
  explicit ReadOnlyMount(const std::filesystem::path& folder) : folder_(folder) {
    is_mounted_ = mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0;
    is_read_only_ =
        is_mounted_ && mount(nullptr, folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    reason_ = std::strerror(errno);
  }
  ~ReadOnlyMount() {
    if (is_mounted_) umount(folder_.c_str());
  }
  ReadOnlyMount(const ReadOnlyMount&) = delete;
  ReadOnlyMount& operator=(const ReadOnlyMount&) = delete;

  bool is_read_only() const { return is_read_only_; }
  const std::string& reason() const { return reason_; }

 private:
  std::filesystem::path folder_;
  bool is_mounted_ = false;
  bool is_read_only_ = false;
  std::string reason_;
};

}  // namespace

TEST_CASE("where no temporary file can be made, rows are stored, found, handed on, dumped and pruned") {
  const TemporaryFolder folder;
  const PowerCutFiles no_temporary_files(1);  // it refuses every file without a name; its power stays
  Opening opening(in_folder(folder / "c"));
  constexpr int kernels = 150;  // more than SQLite keeps of a file, or of a temporary one, before it writes
  fill(opening, kernels);
  CHECK(opening.tuning().trials(sample_problem(7), sample_device()).size() == trials_each);
  CHECK(opening.code().find("k3").has_value());
  CHECK(opening.opened.exchange->export_rows().size() > 50'000);
  CHECK(*opening.warnings == 0);
  CHECK(dump(folder / "c" / "tuning.db").size() > 50'000);
  const std::int64_t long_after = sample_trial().measured_at + 1000;
  CHECK(prune(folder / "c" / "tuning.db", {.older_than_seconds = 10}, long_after).trials == problems * trials_each);
  CHECK(
      prune(folder / "c" / "code.db", {.max_bytes = (kernels - 20) * std::int64_t{kernel_bytes}}, long_after).kernels >=
      20);
}

TEST_CASE(
    "a folder on a read-only mount is read, new results are kept in memory, with one warning, and a missing folder "
    "there is memory") {
  const TemporaryFolder folder;
  {
    Opening opening(in_folder(folder / "c"));
    fill(opening, 5);
  }
  const ReadOnlyMount mounted(folder.path());
  if (!mounted.is_read_only()) {
    MESSAGE("not run: a read-only mount needs root (" << mounted.reason() << ")");
    return;
  }
  Opening opening(in_folder(folder / "c"));
  CHECK(opening.code().find("k3").has_value());
  opening.code().put(sample_entry("new"), sample_image());
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
  CHECK(opening.code().find("new").has_value());
  CHECK(tile_found(opening) == "32");
  CHECK(*opening.warnings == 1);
  CHECK(opening.said("read-only"));
  Opening missing(in_folder(folder / "missing"));
  missing.code().put(sample_entry("new"), sample_image());
  CHECK(missing.code().find("new").has_value());
  CHECK(*missing.warnings == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "missing"));
}
