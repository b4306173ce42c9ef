#include "base/digest.hpp"

#include <doctest/doctest.h>

TEST_CASE("a digest frames its fields by length") {
  CHECK(vostok::Digest().add("ab").add("c").hex() != vostok::Digest().add("a").add("bc").hex());
  CHECK(vostok::Digest().add("ab").hex() == vostok::digest_of("ab"));
  CHECK(vostok::digest_of("").size() == 64);
}
