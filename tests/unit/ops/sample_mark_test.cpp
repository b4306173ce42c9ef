// A row of an operand of SDDMM in a byte: both of its numbers bound what they stand for (abi/sample_operands.h).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <abi/sample_operands.h>

using vostok::SampleMark;

TEST_CASE("a mark's code bounds how many elements lose more than their rounding, by a factor of four at most") {
  CHECK(SampleMark::of(0, 1).code == 0);
  for (std::uint64_t count = 1; count <= 1U << 27; count = count * 3 / 2 + 1) {
    const int code = SampleMark::of(static_cast<unsigned>(count), 1).code;
    CAPTURE(count);
    CHECK(std::pow(4.0, code - 1) >= static_cast<double>(count));
    CHECK(std::pow(4.0, code - 2) < static_cast<double>(count));
  }
  CHECK(SampleMark::of(~0U, 1).code == SampleMark::most_code);
}

TEST_CASE("what a mark says is lost is so many elements of 2^-25 times what is below 2^14, or more than any sum") {
  CHECK(std::exp2(SampleMark::of(1, 1).loss_exponent()) == std::exp2(14 - 25));
  CHECK(std::exp2(SampleMark::of(5, 1).loss_exponent()) == 16 * std::exp2(14 - 25));
  CHECK(std::exp2(SampleMark::of(~0U, 1).loss_exponent()) > std::exp2(31 + 28));
}

TEST_CASE("a mark's mean bounds the mean, by a factor of two at most where it is above 1") {
  for (unsigned parts = 1; parts <= SampleMark::parts << 14; parts = parts * 5 / 4 + 1) {
    const double mean = static_cast<double>(parts) / SampleMark::parts, said = std::exp2(SampleMark::of(0, parts).mean);
    CAPTURE(mean);
    CHECK(said >= mean);
    CHECK((said < 2 * mean || said == 2));
  }
}

TEST_CASE("a mark of zeros alone is like none of other rows") {
  CHECK(SampleMark::of(0, 0).byte() == SampleMark::byte_of_zeros());
  for (const unsigned lossy : {0U, 1U, ~0U})
    for (const unsigned parts : {1U, SampleMark::parts, ~0U})
      CHECK(SampleMark::of(lossy, parts).byte() != SampleMark::byte_of_zeros());
}

TEST_CASE("a mark is what its byte says") {
  for (int byte = 0; byte < 256; ++byte) CHECK(SampleMark::from_byte(static_cast<unsigned char>(byte)).byte() == byte);
}
