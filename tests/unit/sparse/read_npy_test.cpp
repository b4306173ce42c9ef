#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/files.hpp"
#include "unit/sparse/npy_file.hpp"

using namespace vostok;
using namespace vostok::sparse;
using testing::bytes_of;
using testing::header;
using testing::npy;
using testing::swapped;

namespace {

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
  check_sample(read_content(
      npy(header("<f2", "2, 3"), bytes_of(std::vector<std::uint16_t>{0, 0x3e00, 0x8000, 0xc000, 0, 0x3400}))));
  check_sample(read_content(npy(header("<f4", "2, 3", true), bytes_of(std::vector<float>{0, -2, 1.5F, 0, 0, 0.25F}))));
  check_sample(read_content(npy(header("<f4", "2,3,1,1"), bytes_of(sample))));
}

TEST_CASE("every kind of f2 is converted exactly") {
  const Csr csr = read_content(
      npy(header("<f2", "1, 6"), bytes_of(std::vector<std::uint16_t>{0x0001, 0x03ff, 0x0400, 0x7bff, 0xfc00, 0x7e00})));
  REQUIRE(csr.nonzeros() == 6);
  CHECK(csr.values[0] == std::ldexp(1.0, -24));
  CHECK(csr.values[1] == 1023 * std::ldexp(1.0, -24));
  CHECK(csr.values[2] == std::ldexp(1.0, -14));
  CHECK(csr.values[3] == 65504);
  CHECK(csr.values[4] == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(csr.values[5]));
}

TEST_CASE("npy integers of every width and sign, in both byte orders, keep their values") {
  const auto check = [](const std::string& type, const auto& elements, const std::vector<double>& values) {
    CAPTURE(type);
    for (const char* order : {"<", ">", "=", ""}) {
      CAPTURE(order);
      const std::string data = *order == '>' ? swapped(elements) : bytes_of(elements);
      const Csr csr = read_content(npy(header(order + type, fmt::format("1, {}", elements.size())), data));
      CHECK(csr.values == values);
      CHECK(csr.note == fmt::format("dense {}{}, 1 zeros dropped", order, type));
    }
  };
  check("i1", std::vector<std::int8_t>{1, 0, -128, 127}, {1, -128, 127});
  check("u1", std::vector<std::uint8_t>{1, 0, 128, 255}, {1, 128, 255});
  check("i2", std::vector<std::int16_t>{258, 0, -32768}, {258, -32768});
  check("u2", std::vector<std::uint16_t>{258, 0, 65535}, {258, 65535});
  check("i4", std::vector<std::int32_t>{16909060, 0, INT32_MIN}, {16909060, -2147483648.0});
  check("u4", std::vector<std::uint32_t>{16909060, 0, UINT32_MAX}, {16909060, 4294967295.0});
  check("i8", std::vector<std::int64_t>{0x0102030405060708, 0, INT64_MIN},
        {static_cast<double>(0x0102030405060708), -0x1p63});
  check("u8", std::vector<std::uint64_t>{258, 0, UINT64_MAX}, {258, 0x1p64});
  check("f2", std::vector<std::uint16_t>{0x3e00, 0, 0xc000}, {1.5, -2});
  check("f4", std::vector<float>{1.5F, 0, -2}, {1.5, -2});
  check("f8", std::vector<double>{1e300, 0, -2}, {1e300, -2});
}

TEST_CASE("an npy array of bool is a pattern") {
  const Csr csr = read_content(npy(header("|b1", "2, 3"), std::string("\1\0\0\2\0\xff", 6)));
  CHECK(csr.row_offsets == std::vector<std::int64_t>{0, 1, 3});
  CHECK(csr.column_indices == std::vector<std::int32_t>{0, 0, 2});
  CHECK(csr.values.empty());
  CHECK(csr.note == "dense |b1, a pattern, 3 zeros dropped");
}

TEST_CASE("bfloat16 is read as ml_dtypes saves it") {
  const std::vector<std::uint16_t> elements = {0, 0x3fc0, 0x8000, 0xc000, 0x7f80, 0x0001};
  for (const char* type : {"<V2", "|V2", "bfloat16"}) {
    const Csr csr = read_content(npy(header(type, "2, 3"), bytes_of(elements)));
    CHECK(csr.values == std::vector<double>{1.5, -2, std::numeric_limits<double>::infinity(), 0x1p-133});
    CHECK(csr.note == fmt::format("dense {} (bfloat16), 2 zeros dropped", type));
  }
}

TEST_CASE("a dense array of any type keeps its shape and order") {
  const TemporaryFolder folder;
  const auto file =
      folder.write("a.npy", npy(header(">i2", "3, 2", true), swapped(std::vector<std::int16_t>{1, 2, 3, 4, 5, 6})));
  const DenseArray array = read_array(file);
  CHECK(array.shape == std::vector<std::int64_t>{3, 2});
  CHECK(array.values == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("sizes that an npy header claims take no memory that is not there") {
  constexpr std::int64_t memory_bytes = std::int64_t{1} << 20;
  const auto refuse = [&](ErrorCode code, const std::string& shape, const std::string& data,
                          const std::vector<std::string>& parts) {
    CAPTURE(shape);
    const std::string content = npy(header("|i1", shape), data);
    testing::check_refused(code, parts,
                           [&] { parse_npy({.bytes = content, .name = "claim.npy", .memory_bytes = memory_bytes}); });
  };
  refuse(ErrorCode::out_of_memory, "2000000000, 0", "",
         {"claim.npy", "2000000000 rows", "15258.8 MiB", "1.0 MiB are free"});
  refuse(ErrorCode::out_of_memory, "1, 200000", std::string(200000, '\1'), {"claim.npy", "200000 nonzeros"});
  refuse(ErrorCode::invalid_topology, "2000000000, 2000000000", "",
         {"claim.npy", "4000000000000000000 elements", "it has 0"});
  refuse(ErrorCode::invalid_topology, "2000000000, 2000000000, 4, 2000000000", "",
         {"claim.npy", "do not fit in 64 bits"});
  check_refused(ErrorCode::out_of_memory, npy(header("|i1", "200000000, 0"), ""), {"200000000 rows"});
  const std::string content = npy(header("|i1", "1, 200000"), std::string(200000, '\0'));
  testing::check_refused(ErrorCode::out_of_memory, {"claim.npy", "200000 elements"},
                         [&] { parse_array({.bytes = content, .name = "claim.npy", .memory_bytes = memory_bytes}); });
  CHECK(parse_npy({.bytes = content, .name = "claim.npy", .memory_bytes = memory_bytes}).nonzeros() == 0);
}

TEST_CASE("npy arrays without elements are matrices without nonzeros") {
  CHECK(read_content(npy(header("<f4", "0, 3"), "")).rows == 0);
  CHECK(read_content(npy(header("<f4", "2, 0"), "")).row_offsets == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("npy arrays that are not read are refused with the reason") {
  const std::string data = bytes_of(sample);
  for (const char* type : {"<c8", "<f16", "|O", "|V1", "|S4", "<U1", "|i3", "<b1x", "", "<", "f", "<f-4"}) {
    CAPTURE(type);
    check_refused(ErrorCode::unsupported, npy(header(type, "2, 3"), data),
                  {fmt::format("type '{}'", type), "only bool, integers, f2, f4, f8"});
  }
  check_refused(ErrorCode::unsupported,
                npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", data), {"records"});
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
  check_refused(ErrorCode::invalid_topology, npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}", ""),
                {"fortran_order", "Maybe"});
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
