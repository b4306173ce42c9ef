// The disk fails at every operation in turn: no exception, memory in the files' place, and in the files old or new
// rows.
#include <doctest/doctest.h>

#include "cache/database.hpp"
#include "cache/summary.hpp"
#include "unit/cache/faulty_vfs.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

/// Writes with a fault after so many operations. False: there were fewer operations than that.
bool write_with_fault(FaultyFiles& files, const std::filesystem::path& folder, const std::string& before,
                      int operations, int code, bool for_good) {
  files.fail_after(operations, code, for_good);
  {
    Opening opening(in_folder(folder));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
    opening.code().put(sample_entry(), sample_image(3000));
    CHECK(tile_found(opening) == "32");
    const auto image = opening.code().find("key");
    CHECK((image && same_image(*image, sample_image(3000))));
    CHECK(*opening.warnings <= 2);  // one a file
    CHECK((*opening.warnings > 0) == files.has_failed());
  }
  files.heal();
  Opening after(in_folder(folder));
  const std::string found = tile_found(after);
  CHECK((found == before || found == "32"));
  const auto image = after.code().find("key");
  CHECK((!image || same_image(*image, sample_image(before.empty() ? 3000 : image->binary.size()))));
  CHECK(*after.warnings == 0);
  for (const char* name : {"tuning.db", "code.db"}) CHECK(faults_of(folder / name, {}).empty());
  return files.has_failed();
}

}  // namespace

TEST_CASE("whichever operation on a file fails, results are kept in memory, and the file holds old or new rows") {
  const TemporaryFolder folder;
  FaultyFiles files;
  copy_caches(folder / "nothing", folder / "cold");
  copy_caches(folder / "nothing", folder / "filled");
  {
    Opening opening(in_folder(folder / "filled"));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("8"));
    opening.code().put(sample_entry(), sample_image(1000));
  }
  struct Fault {
    int code;
    bool for_good;
  };
  int faults = 0;
  for (const Fault fault : {Fault{SQLITE_FULL, true}, Fault{SQLITE_FULL, false}, Fault{SQLITE_IOERR_WRITE, true},
                            Fault{SQLITE_IOERR_WRITE, false}}) {
    for (const bool cold : {true, false}) {
      for (int operations = 0;; ++operations) {
        CAPTURE(fault.code);
        CAPTURE(fault.for_good);
        CAPTURE(cold);
        CAPTURE(operations);
        copy_caches(folder / (cold ? "cold" : "filled"), folder / "c");
        if (!write_with_fault(files, folder / "c", cold ? "" : "8", operations, fault.code, fault.for_good)) break;
        ++faults;
      }
    }
  }
  CHECK(faults > 100);
}
