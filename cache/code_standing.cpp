#include "cache/code_standing.hpp"

namespace vostok::cache {

plan::CodeStanding standing_of(Connection& connection, const std::string& code_digest) {
  plan::CodeStanding standing;
  Statement row = connection.query("SELECT DISTINCT status, reason FROM trial WHERE code_digest = ?", code_digest);
  while (row.step()) {
    const std::string status = row.text(0);
    if (plan::is_failure(status, row.text(1))) {
      standing.failure = status;
      standing.reason = row.text(1);
    } else if (plan::is_pass(status, row.text(1))) {
      standing.passed = true;
    }
  }
  return standing;
}

}  // namespace vostok::cache
