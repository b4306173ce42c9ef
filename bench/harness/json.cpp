#include "bench/harness/json.hpp"

#include <cmath>
#include <fstream>

#include "base/number_text.hpp"
#include "base/text.hpp"

namespace vostok::bench {

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return parse_number<double>(fmt::format("{:.6g}", value)).value_or(value);
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json clocks_json(const std::optional<device::Clocks>& clocks) {
  if (!clocks) return nullptr;
  return {{"sm_mhz", clocks->sm_mhz}, {"memory_mhz", clocks->memory_mhz}};
}

Json timed_json(const Timed& timed) {
  if (!timed.timing) return {{"failure", timed.failure}};
  const Timing& timing = *timed.timing;
  return {{"median_us", number(timing.median_us)},
          {"spread_us", number(timing.spread_us)},
          {"launches", timing.launches},
          {"rounds", timing.rounds}};
}

void write_json(const std::filesystem::path& path, const Json& json) {
  const std::filesystem::path part = path.string() + ".part";
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    if (!file.flush())
      fail(ErrorCode::io_failure, "cannot write {}: the folder is missing, full or not writable", part.string());
  }
  std::filesystem::rename(part, path);
}

}  // namespace vostok::bench
