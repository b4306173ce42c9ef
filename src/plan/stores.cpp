#include "plan/stores.hpp"

#include "base/number_text.hpp"
#include "tune/worker_end.hpp"

namespace vostok::plan {

namespace {

bool others_ended_it(std::string_view reason) {
  constexpr std::string_view signalled = "its process ended: signal ";
  if (!reason.starts_with(signalled)) return false;
  reason.remove_prefix(signalled.size());
  const auto signal = parse_number<int>(reason.substr(0, reason.find(' ')));
  return signal && !tune::is_fault(*signal);
}

}  // namespace

bool is_failure(std::string_view status, std::string_view reason) {
  return status == "wrong" || status == "hung" || (status == "faulted" && !others_ended_it(reason));
}

}  // namespace vostok::plan
