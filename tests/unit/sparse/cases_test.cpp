#include <doctest/doctest.h>

#include <cmath>

#include "sparse/elements.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

TEST_CASE("the files that users of other tools stumbled over are read as they are meant") {
  std::filesystem::path data;
  if (!testing::find_data(data)) return;
  const std::filesystem::path cases = data / "cases";
  if (!std::filesystem::is_directory(cases)) {
    MESSAGE("skipped: no files of other tools' users at ", cases.string());
    return;
  }
  CHECK(read(cases / "single_percent.mtx").nonzeros() == 6);
  CHECK(read(cases / "unsigned_integer.mtx").values == std::vector<double>{255, 1, 7});
  CHECK(read(cases / "double_field.mtx").values == std::vector<double>{1.25, 7});
  CHECK(read(cases / "underflow.mtx").values == std::vector<double>{0, 0x1p-1074, 2});
  CHECK(read(cases / "bool_mask.npy").values.empty());
  CHECK(read(cases / "bool_mask.npy").nonzeros() == 18);
  CHECK(read(cases / "int8.npy").values.at(2) == -9);
  CHECK(read(cases / "big_endian_f4.npy").values.at(0) > 0);
  CHECK(value_facts(Dtype::f16, read(cases / "f16_overflow_values.npy").values).overflows == 1);
  CHECK(value_facts(Dtype::f16, read(cases / "negzero_nan.npy").values).nans == 1);

  testing::check_refused(ErrorCode::out_of_memory, {"huge_sizes.mtx", "2000000000 rows"},
                         [&] { read(cases / "huge_sizes.mtx"); });
}
