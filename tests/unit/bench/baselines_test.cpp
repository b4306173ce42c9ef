#include <doctest/doctest.h>

#include <string>

#include "base/text.hpp"
#include "bench/harness/baselines.hpp"

namespace vostok::bench {
namespace {

const BaselineColumns columns{
    .rows = "m", .cols = "k", .n = "n", .times = {{"sputnik_f32_us", "sputnik"}, {"cublas_sgemm_us", "cublas_sgemm"}}};
const BaselineColumns without_n{.rows = "m", .cols = "k", .n = nullptr, .times = {{"sputnik_f32_us", "sputnik"}}};

const std::string csv =
    "set_or_file,m,k,n,sparsity,row_cov,nnz,sputnik_f32_us,cusparse_f32_us,cublas_sgemm_us\n"
    "a.smtx,512,256,64,0.5,0.1,131072,14.4,13.7,9.0\n"
    "a.smtx,512,256,128,0.5,0.1,131072,-1,20.5,18.0\r\n"
    "a.smtx,512,256,256,0.5,0.1,131072,14.2,20.5,18.0\n"
    "attention,64,32,8,0.900,0.00,204,3.5,4.5,-1\n"
    "attention,64,32,8,0.950,0.00,102,2.5,4.5,-1\n"
    "imbalance,64,32,8,0.900,0.50,204,4.5,4.5,-1\n";

std::string refusal(const std::string& text, const BaselineColumns& wanted) {
  try {
    Baselines::parse(text, wanted);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("a baseline is found by file and sizes, and a peer that did not run is not in it") {
  const Baselines baselines = Baselines::parse(csv, columns);
  const Baseline found = baselines.find({.file = "a.smtx", .n = 64}, 512, 256);
  CHECK(found == Baseline{{"sputnik", 14.4}, {"cublas_sgemm", 9.0}});
  CHECK(baselines.find({.file = "a.smtx", .n = 128}, 512, 256) == Baseline{{"cublas_sgemm", 18.0}});
  CHECK(baselines.find({.file = "a.smtx", .n = 65}, 512, 256).empty());
  CHECK(baselines.find({.file = "a.smtx", .n = 64}, 256, 512).empty());
}

TEST_CASE("where the operation has no N, the fastest of a matrix's times counts") {
  CHECK(Baselines::parse(csv, without_n).find({.file = "a.smtx"}, 512, 256) == Baseline{{"sputnik", 14.2}});
}

TEST_CASE("sets become generated problems that find their own baselines") {
  const Baselines baselines = Baselines::parse(csv, columns);
  REQUIRE(baselines.generated().size() == 3);
  const Problem& problem = baselines.generated()[1];
  CHECK(label(problem) == "attention/0.950/64x32 n=8");
  CHECK(group(problem) == "attention");
  CHECK(baselines.find(problem, 64, 32) == Baseline{{"sputnik", 2.5}});
  CHECK(baselines.generated()[2].file == "imbalance/0.900/64x32/cov=0.50");
  const sparse::Csr matrix = load_matrix({}, problem, 1);
  CHECK(matrix.rows == 64);
  CHECK(matrix.cols == 32);
  CHECK(matrix.nonzeros() == 102);
}

TEST_CASE("baselines with a column missing, a short line or a word for a number are refused") {
  CHECK(refusal("set_or_file,m,k,n,sparsity,row_cov\n", columns).find("sputnik_f32_us") != std::string::npos);
  CHECK(refusal(csv + "a.smtx,1\n", columns).find("line 8") != std::string::npos);
  CHECK(refusal(csv + "a.smtx,512,x,64,0.5,0.1,1,1,1,1\n", columns).find("\"x\"") != std::string::npos);
}

}  // namespace
}  // namespace vostok::bench
