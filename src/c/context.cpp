// Contexts, what they tell of themselves, and host memory with an owner.
#include "c/handles.hpp"
#include "c/options.hpp"

namespace vostok::c {

namespace {

vostok_device_info device_info_of(const DeviceInfo& info) {
  return {.size = sizeof(vostok_device_info),
          .gpu = info.gpu,
          .multiprocessors = info.multiprocessors,
          .clock_mhz = info.clock_mhz,
          .memory_clock_mhz = info.memory_clock_mhz,
          .reserved = 0,
          .memory_bytes = info.memory_bytes,
          .l2_bytes = info.l2_bytes,
          .peak_fp32_gflops = info.peak_fp32_gflops,
          .peak_bandwidth_gb = info.peak_bandwidth_gb,
          .name = info.name.c_str(),
          .uuid = info.uuid.c_str(),
          .architecture = info.architecture.c_str(),
          .driver = info.driver.c_str()};
}

vostok_counters counters_of(const Counters& counters) {
  return {.size = sizeof(vostok_counters),
          .reserved = 0,
          .kernels_compiled = counters.kernels_compiled,
          .compile_us = counters.compile_us,
          .code_hits = counters.code_hits,
          .tuning_hits = counters.tuning_hits,
          .tuning_misses = counters.tuning_misses,
          .invalid_rows = counters.invalid_rows,
          .cache_warnings = counters.cache_warnings,
          .memo_hits = counters.memo_hits,
          .trials_measured = counters.trials_measured};
}

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_context_create(const vostok_options* options, vostok_context** context) {
  return make_handle(context, "context", [&] { return vostok::Context(options_of(options)); });
}

vostok_context* vostok_context_retain(vostok_context* context) { return retain(context); }

void vostok_context_release(vostok_context* context) { release(context); }

vostok_status vostok_context_device(const vostok_context* context, vostok_device_info* info) {
  return guarded([&] { fill(info, device_info_of(context_of(context).device()), "vostok_device_info"); });
}

vostok_status vostok_context_counters(const vostok_context* context, vostok_counters* counters) {
  return guarded([&] { fill(counters, counters_of(context_of(context).counters()), "vostok_counters"); });
}

vostok_status vostok_context_reload(const vostok_context* context) {
  return guarded([&] { context_of(context).reload(); });
}

vostok_status vostok_context_export_cache(const vostok_context* context, vostok_bytes** bytes) {
  return make_handle(bytes, "bytes", [&] { return context_of(context).export_cache(); });
}

vostok_status vostok_context_import_cache(const vostok_context* context, const void* data, size_t size) {
  return guarded([&] { context_of(context).import_cache(span_of(data, size)); });
}

const void* vostok_bytes_data(const vostok_bytes* bytes) { return bytes == nullptr ? nullptr : bytes->value.data(); }

size_t vostok_bytes_size(const vostok_bytes* bytes) { return bytes == nullptr ? 0 : bytes->value.size(); }

void vostok_bytes_release(vostok_bytes* bytes) { release(bytes); }
