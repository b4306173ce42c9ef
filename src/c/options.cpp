#include "c/options.hpp"

#include <string>

#include "c/handles.hpp"

namespace vostok::c {

namespace {

/// Serves the library's device memory from a program's two functions.
class CallerAllocator : public Allocator {
 public:
  explicit CallerAllocator(const vostok_options& options)
      : allocate_(options.allocate), release_(options.release), user_(options.allocator_user) {}
  void* allocate(std::int64_t bytes) override { return allocate_(bytes, user_); }
  void release(void* memory) noexcept override { release_(memory, user_); }

 private:
  void* (*allocate_)(std::int64_t, void*);
  void (*release_)(void*, void*);
  void* user_;
};

template <class Pass>
void each_option(const Pass& pass, auto& c, Options& options) {
  pass("allow_emulator", c.allow_emulator, options.allow_emulator);
  pass("max_workspace_bytes", c.max_workspace_bytes, options.max_workspace_bytes);
  pass("cache_enabled", c.cache_enabled, options.cache.enabled);
  pass("cache_environment", c.cache_environment, options.cache.environment);
  pass("allow_network_folder", c.allow_network_folder, options.cache.allow_network_folder);
  pass("lock_timeout_ms", c.lock_timeout_ms, options.cache.lock_timeout_ms);
  pass("max_code_bytes", c.max_code_bytes, options.cache.max_code_bytes);
  pass("compile", c.compile, options.compile);
  pass("check_shipped", c.check_shipped, options.check_shipped);
  pass("cache_only", c.cache_only, options.cache_only);
  pass("compile_threads", c.compile_threads, options.compile_threads);
  pass("first_run", c.first_run, options.worker.first_run);
  pass("worker_timeout_seconds", c.worker_timeout_seconds, options.worker.timeout_seconds);
}

template <class Pass>
void each_option(const Pass& pass, auto& c, PlanOptions& options) {
  pass("effort", c.effort, options.effort);
  pass("budget_seconds", c.budget_seconds, options.budget_seconds);
  pass("seed", c.seed, options.seed);
  pass("policy", c.policy, options.policy);
  pass("overlap_calls", c.overlap_calls, options.overlap_calls);
}

void take_text(const char* from, std::optional<std::filesystem::path>& to) {
  if (from != nullptr) to = from;
}

template <class Text>
void take_texts(const char* field, const char* const* from, std::int64_t count, std::vector<Text>& to) {
  const char* const structure = Structure<vostok_options>::name;
  if (count < 0 || (count > 0 && from == nullptr)) fail_list(structure, field, count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (from[i] == nullptr) fail(ErrorCode::invalid_argument, "cannot read {}: {}[{}] is NULL", structure, field, i);
    to.emplace_back(from[i]);
  }
}

void take_callbacks(const vostok_options& from, Options& to) {
  if ((from.allocate == nullptr) != (from.release == nullptr))
    fail(ErrorCode::invalid_argument, "cannot read vostok_options: allocate and release are given both or not at all");
  if (from.allocate != nullptr) to.allocator = std::make_shared<CallerAllocator>(from);
  if (from.log == nullptr) return;
  to.log = [log = from.log, user = from.log_user](LogLevel level, std::string_view line) {
    log(static_cast<std::int32_t>(level), std::string(line).c_str(), user);
  };
}

}  // namespace

void Structure<vostok_options>::set_defaults(vostok_options& made) {
  Options standard;
  each_option(GiveFields(), made, standard);
}

void Structure<vostok_plan_options>::set_defaults(vostok_plan_options& made) {
  PlanOptions standard;
  each_option(GiveFields(), made, standard);
}

Options options_of(const vostok_options* given) {
  const vostok_options known = read_or_defaults(given);
  Options options;
  each_option(TakeFields(Structure<vostok_options>::name), known, options);
  if (known.device != nullptr) options.device = known.device;
  options.cuda_context = static_cast<CUctx_st*>(known.cuda_context);
  take_text(known.cache_folder, options.cache.folder);
  take_text(known.shipped, options.cache.shipped);
  take_text(known.nvrtc, options.nvrtc);
  take_text(known.worker_tool, options.worker.tool);
  take_texts("read_only", known.read_only, known.read_only_count, options.cache.read_only);
  take_texts("trusted_keys", known.trusted_keys, known.trusted_key_count, options.cache.trusted_keys);
  take_callbacks(known, options);
  return options;
}

PlanOptions options_of(const vostok_plan_options* given) {
  const vostok_plan_options known = read_or_defaults(given);
  PlanOptions options;
  each_option(TakeFields(Structure<vostok_plan_options>::name), known, options);
  options.stream = stream_of(known.stream);
  if (known.family != nullptr) options.family = known.family;
  if (known.packed_format != nullptr) options.packed_format = known.packed_format;
  if (known.progress != nullptr)
    options.progress = [progress = known.progress, user = known.progress_user](const std::string& line) {
      progress(line.c_str(), user);
    };
  if (known.stop != nullptr) options.stop = [stop = known.stop, user = known.stop_user] { return stop(user) != 0; };
  return options;
}

}  // namespace vostok::c

void vostok_options_init(vostok_options* options, size_t size) { vostok::c::initialise(options, size); }
void vostok_plan_options_init(vostok_plan_options* options, size_t size) { vostok::c::initialise(options, size); }
