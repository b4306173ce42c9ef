// The power goes at every operation in turn: what is found afterwards holds the old row or the new one, never part of
// one.
#include <doctest/doctest.h>

#include "cache/summary.hpp"
#include "unit/cache/fixture.hpp"
#include "unit/cache/power_cut_files.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

constexpr std::size_t old_bytes = 30000;  // of a kernel, on several pages
constexpr std::size_t new_bytes = 50000;

/// What a cut left: either both rows as they were, or one or both of them as they were to be.
void check_old_or_new(const std::filesystem::path& folder, const std::string& old_tile) {
  Opening after(in_folder(folder));  // it plays back what is half-done
  const std::string tile = tile_found(after);
  CHECK((tile == old_tile || tile == "32"));
  const auto image = after.code().find("key");
  if (image)
    CHECK((same_image(*image, sample_image(new_bytes)) ||
           (!old_tile.empty() && same_image(*image, sample_image(old_bytes)))));
  else CHECK(old_tile.empty());
  CHECK(*after.warnings == 0);
  for (const char* name : {"tuning.db", "code.db"}) CHECK(faults_of(folder / name, {}).empty());
}

/// Writes until the power goes after so many operations. False: it did not.
bool write_until_cut(PowerCutFiles& files, const std::filesystem::path& folder, int operations) {
  files.cut_after(operations);
  {
    Opening opening(in_folder(folder));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
    opening.code().put(sample_entry(), sample_image(new_bytes));
  }
  const bool was_cut = files.was_cut();
  files.restore();
  return was_cut;
}

}  // namespace

TEST_CASE("wherever the power goes while rows are written, the files hold old or new rows when it is back") {
  const TemporaryFolder folder;
  copy_caches(folder / "nothing", folder / "cold");
  copy_caches(folder / "nothing", folder / "filled");
  {
    Opening opening(in_folder(folder / "filled"));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("8"));
    opening.code().put(sample_entry(), sample_image(old_bytes));
  }
  int cuts = 0;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    for (const bool cold : {true, false}) {
      CAPTURE(seed);
      CAPTURE(cold);
      const std::string old_tile = cold ? "" : "8";
      for (int operations = 0;; ++operations) {
        CAPTURE(operations);
        copy_caches(folder / (cold ? "cold" : "filled"), folder / "c");
        bool was_cut = false;
        {
          PowerCutFiles files(seed * 1000 + static_cast<unsigned>(operations));
          was_cut = write_until_cut(files, folder / "c", operations);
        }
        check_old_or_new(folder / "c", old_tile);
        if (!was_cut) break;
        ++cuts;
      }
    }
  }
  CHECK(cuts > 200);
}
