// NVML in the library of the fake driver.
#include <cstring>

#include "unit/device/fake_cuda/fake_state.hpp"

using namespace vostok::fake;

extern "C" {

unsigned nvmlInit_v2() {
  return static_cast<unsigned>(run({"nvmlInit_v2"}, [] { return Result::success; }));
}
unsigned nvmlShutdown() {
  return static_cast<unsigned>(run({"nvmlShutdown"}, [] { return Result::success; }));
}
unsigned nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  *device = nullptr;
  return std::strcmp(bus_id, "0000:01:00.0") == 0 ? 0 : 6;
}
unsigned nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  return static_cast<unsigned>(
      run({"nvmlDeviceGetClockInfo"}, [&] { return *mhz = type == 1 ? 1755 : 3201, Result::success; }));
}

}  // extern "C"
