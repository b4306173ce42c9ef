// What a context's caches hold, handed on and looked at again.
#include <cstring>

#include "cache/cache.hpp"
#include "context_state.hpp"
#include "plan/planner.hpp"

namespace vostok {

std::vector<std::byte> Context::export_cache() const {
  state_->session->device().require_here("export the cache");
  const std::string text = state_->exchange->export_rows();
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void Context::import_cache(std::span<const std::byte> bytes) const {
  state_->session->device().require_here("import cache rows");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  state_->exchange->import_rows(text, state_->session->device_key());
  state_->planner->forget();
}

void Context::reload() const {
  state_->session->device().require_here("reload the cache");
  state_->exchange->reload();
  state_->planner->forget();
}

}  // namespace vostok
