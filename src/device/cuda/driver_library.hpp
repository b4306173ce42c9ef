// libcuda: found, loaded, and called with every return code checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/driver_api.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

/// The driver, initialised. Immutable and thread-safe.
class Driver : public DriverApi {
 public:
  /// Calls `function` and throws unless it succeeds: out_of_memory or device_failure, "cannot <task>: <call> failed
  /// with ...".
  template <class... Parameters, class... Arguments>
  void require(const char* task, const DriverFunction<Parameters...>& function, Arguments... arguments) const {
    const Result result = function(arguments...);
    if (result != Result::success) [[unlikely]]
      fail_call(task, function.name, result);
  }

  /// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string describe(Result result) const;
  [[noreturn]] void fail_call(const std::string& task, const char* call, Result result) const;

  int version() const { return version_; }  ///< 13000 for CUDA 13.0
  std::string version_text() const;

 private:
  friend struct DriverSearch;
  int version_ = 0;
};

/// Result of the search for a driver: `driver` is empty if there is no usable one, and `findings` say why.
struct DriverSearch {
  std::shared_ptr<const Driver> driver;
  std::vector<Finding> findings;

  /// VOSTOK_LIBCUDA alone if it is set, else the loader's libcuda.so.1, then the folder where WSL keeps it.
  static DriverSearch run();
  /// The findings as one sentence for an error.
  std::string reasons() const;

 private:
  static std::shared_ptr<const Driver> open(Finding& finding);
};

/// Errors: no_device naming everything tried.
std::shared_ptr<const Driver> open_driver();

/// "<where>: <state>" for each finding, joined with "; ".
std::string join_findings(const std::vector<Finding>& findings);

}  // namespace vostok::device::cuda
