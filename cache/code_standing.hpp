// One file's record of machine code: whether it passed verification somewhere, and whether it failed.
#pragma once

#include <string>

#include "cache/database.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

plan::CodeStanding standing_of(Connection& connection, const std::string& code_digest);

}  // namespace vostok::cache
