#include "device/cuda/driver_library.hpp"

#include "base/environment.hpp"
#include "base/process_mark.hpp"
#include "base/text.hpp"
#include "device/cuda/shared_object.hpp"

namespace vostok::device::cuda {

namespace {

std::vector<std::string> candidates() {
  if (auto chosen = trusted_environment("VOSTOK_LIBCUDA")) return {*chosen};
  return {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
}

/// An explanation for failures in a child of fork.
constexpr const char* fork_hint =
    "; a process that was forked off from one that uses CUDA cannot use it, "
    "and one that is started by exec can";

/// Fills the table; returns the names of required functions that are missing.
std::string load_table(const SharedObject& object, DriverApi& api) {
  std::string missing;
  const auto required = [&](auto& function) {
    if (!object.find(function)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", function.name);
  };
#define VOSTOK_REQUIRED(symbol, ...) required(api.symbol);
#define VOSTOK_OPTIONAL(symbol, ...) object.find(api.symbol);
  VOSTOK_DRIVER_FUNCTIONS(VOSTOK_REQUIRED, VOSTOK_OPTIONAL)
#undef VOSTOK_REQUIRED
#undef VOSTOK_OPTIONAL
  return missing;
}

}  // namespace

std::string Driver::describe(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  const bool known = cuGetErrorName(result, &name) == Result::success && name != nullptr;
  const bool explained = cuGetErrorString(result, &text) == Result::success && text != nullptr;
  return fmt::format("{} ({}): {}", known ? name : "an error without a name", static_cast<unsigned>(result),
                     explained ? text : "no text");
}

void Driver::fail_call(const std::string& task, const char* call, Result result) const {
  const ErrorCode code = result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device_failure;
  fail(code, "cannot {}: {} failed with {}", task, call, describe(result));
}

std::string Driver::version_text() const { return fmt::format("{}.{}", version_ / 1000, version_ % 1000 / 10); }

std::shared_ptr<const Driver> DriverSearch::open(Finding& finding) {
  std::string error;
  const SharedObject object = SharedObject::open(finding.where, &error);
  if (!object) {
    finding.state = error;
    return nullptr;
  }
  finding.where = object.path();
  auto driver = std::make_shared<Driver>();
  if (const std::string missing = load_table(object, *driver); !missing.empty()) {
    finding.state =
        fmt::format("found, but too old or not a driver (CUDA 11.8 or newer is needed): it has no {}", missing);
    return nullptr;
  }
  // If no GPU is visible, a driver already used by the parent kills a child that initialises it again.
  static const ProcessMark first_asked;
  if (!first_asked.is_here()) {
    finding.state = fmt::format("found, but not asked{}", fork_hint);
    return nullptr;
  }
  if (const Result result = driver->cuInit(0); result != Result::success) {
    finding.state = fmt::format("found, but cuInit failed with {}{}", driver->describe(result),
                                result == Result::not_initialized ? fork_hint : "");
    return nullptr;
  }
  if (const Result result = driver->cuDriverGetVersion(&driver->version_); result != Result::success) {
    finding.state = fmt::format("found, but cuDriverGetVersion failed with {}", driver->describe(result));
    return nullptr;
  }
  finding.state = fmt::format("found, for CUDA {}", driver->version_text());
  finding.used = true;
  return driver;
}

DriverSearch DriverSearch::run() {
  DriverSearch search;
  for (const std::string& candidate : candidates()) {
    Finding& finding = search.findings.emplace_back(Finding{.what = "driver", .where = candidate, .state = {}});
    search.driver = open(finding);
    if (search.driver) break;
  }
  return search;
}

std::string DriverSearch::reasons() const { return join_findings(findings); }

std::string join_findings(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", finding.where, finding.state);
  return text;
}

std::shared_ptr<const Driver> open_driver() {
  const DriverSearch search = DriverSearch::run();
  if (!search.driver) fail(ErrorCode::no_device, "cannot use a GPU: no CUDA driver ({})", search.reasons());
  return search.driver;
}

}  // namespace vostok::device::cuda
