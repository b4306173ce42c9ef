#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

template <class Element>
std::string bytes_of(const std::vector<Element>& elements) {
  std::string bytes(elements.size() * sizeof(Element), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  const auto length = static_cast<std::uint32_t>(header.size());
  const std::string length_bytes(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + length_bytes + header + data;
}

std::string header(const std::string& type, const std::string& shape, bool column_major = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}\n", type, column_major ? "True" : "False", shape);
}

Csr read_content(const std::string& content) {
  const TemporaryFolder folder;
  return read(folder.write("a.npy", content));
}

void check_refused(ErrorCode code, const std::string& content, std::vector<std::string> parts) {
  parts.emplace_back("a.npy");
  testing::check_refused(code, parts, [&] { read_content(content); });
}

const std::vector<float> sample = {0, 1.5F, 0, -2, 0, 0.25F};

void check_sample(const Csr& csr) {
  CHECK(csr.rows == 2);
  CHECK(csr.cols == 3);
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 1, 3});
  CHECK(csr.column_indices == std::vector<std::int32_t>{1, 0, 2});
  CHECK(csr.values == std::vector<double>{1.5, -2, 0.25});
}

}  // namespace

TEST_CASE("npy versions 1 to 3 are read and exact zeros dropped") {
  for (const int version : {1, 2, 3}) {
    INFO("version ", version);
    const Csr csr = read_content(npy(header("<f4", "2, 3"), bytes_of(sample), version));
    check_sample(csr);
    CHECK(csr.note == "dense <f4, 3 zeros dropped");
  }
}

TEST_CASE("npy arrays of f8 and f2, in C and Fortran order, hold the same matrix") {
  check_sample(read_content(npy(header("<f8", "2, 3"), bytes_of(std::vector<double>(sample.begin(), sample.end())))));
  check_sample(read_content(npy(header("<f2", "2, 3"), bytes_of(std::vector<std::uint16_t>{0, 0x3e00, 0x8000, 0xc000, 0, 0x3400}))));
  check_sample(read_content(npy(header("<f4", "2, 3", true), bytes_of(std::vector<float>{0, -2, 1.5F, 0, 0, 0.25F}))));
  check_sample(read_content(npy(header("<f4", "2,3,1,1"), bytes_of(sample))));
}

TEST_CASE("every kind of f2 is converted exactly") {
  const Csr csr = read_content(npy(header("<f2", "1, 6"), bytes_of(std::vector<std::uint16_t>{0x0001, 0x03ff, 0x0400, 0x7bff, 0xfc00, 0x7e00})));
  REQUIRE(csr.nonzeros() == 6);
  CHECK(csr.values[0] == std::ldexp(1.0, -24));
  CHECK(csr.values[1] == 1023 * std::ldexp(1.0, -24));
  CHECK(csr.values[2] == std::ldexp(1.0, -14));
  CHECK(csr.values[3] == 65504);
  CHECK(csr.values[4] == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(csr.values[5]));
}

TEST_CASE("npy arrays without elements are matrices without nonzeros") {
  CHECK(read_content(npy(header("<f4", "0, 3"), "")).rows == 0);
  CHECK(read_content(npy(header("<f4", "2, 0"), "")).row_offsets == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("npy arrays that are not read are refused with the reason") {
  const std::string data = bytes_of(sample);
  check_refused(ErrorCode::unsupported, npy(header(">f4", "2, 3"), data), {"'>f4'"});
  check_refused(ErrorCode::unsupported, npy(header("<i4", "2, 3"), data), {"'<i4'"});
  check_refused(ErrorCode::unsupported, npy(header("<c8", "2, 3"), data), {"'<c8'"});
  check_refused(ErrorCode::unsupported, npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", data), {"records"});
  check_refused(ErrorCode::unsupported, npy(header("<f4", "6,"), data), {"1 dimensions"});
  check_refused(ErrorCode::unsupported, npy(header("<f4", ""), bytes_of(std::vector<float>{1})), {"0 dimensions"});
  check_refused(ErrorCode::unsupported, npy(header("<f4", "1, 2, 3"), data), {"3 dimensions"});
  check_refused(ErrorCode::unsupported, npy(header("<f4", "1, 2, 3, 1"), data), {"[1,2,3,1]"});
  check_refused(ErrorCode::unsupported, npy(header("<f4", "2, 3"), data, 4), {"version 4"});
}

TEST_CASE("a damaged npy file is refused, wherever it ends") {
  const std::string content = npy(header("<f4", "2, 3"), bytes_of(sample));
  for (std::size_t length = 0; length < content.size(); ++length) {
    INFO("after ", length, " bytes");
    check_refused(ErrorCode::invalid_topology, content.substr(0, length), {});
  }
  check_refused(ErrorCode::invalid_topology, content + "x", {"take 24 bytes, it has 25"});
  check_refused(ErrorCode::invalid_topology, "not an array", {"does not start like"});
  check_refused(ErrorCode::invalid_topology, npy("{'fortran_order': False, 'shape': (2, 3)}", ""), {"no 'descr'"});
  check_refused(ErrorCode::invalid_topology, npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}", ""), {"fortran_order", "Maybe"});
  check_refused(ErrorCode::invalid_topology, npy(header("<f4", "2; 3"), ""), {"shape"});
  check_refused(ErrorCode::invalid_topology, npy(header("<f4", "2, -3"), ""), {"-3"});
  check_refused(ErrorCode::invalid_topology, npy(header("<f4", "9000000000000000, 0"), ""), {"do not fit"});
}

TEST_CASE("the real convolution weights are read, nine of ten of them zero") {
  std::filesystem::path data;
  if (!testing::find_data(data)) return;
  for (int layer = 0; layer < 12; ++layer) {
    const Csr csr = read(data / "mobilenetv1" / fmt::format("contraction_1x1_{}.npy", layer));
    const double sparsity = statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices).sparsity();
    INFO("layer ", layer, " of ", csr.rows, " x ", csr.cols, ": ", sparsity);
    CHECK(csr.values.size() == csr.column_indices.size());
    CHECK(sparsity == doctest::Approx(0.9).epsilon(0.002));
    CHECK(csr.rows >= 64);
  }
}
