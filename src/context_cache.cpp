// What a context's caches hold, handed on and looked at again.
#include <cstring>

#include "base/boundary.hpp"
#include "cache/cache.hpp"
#include "context_state.hpp"
#include "plan/planner.hpp"

namespace vostok {

std::vector<std::byte> Context::export_cache() const {
  const ContextState& state = state_of(*this, "export", "cache");
  return at_boundary("export", "cache", [&] {
    state.session->device().require_here("export the cache");
    const std::string text = state.exchange->export_rows();
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  });
}

void Context::import_cache(std::span<const std::byte> bytes) const {
  const ContextState& state = state_of(*this, "import", "cache");
  at_boundary("import", "cache", [&] {
    state.session->device().require_here("import cache rows");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    state.exchange->import_rows(text, state.session->device_key());
    state.planner->forget();
  });
}

void Context::reload() const {
  const ContextState& state = state_of(*this, "reload", "cache");
  at_boundary("reload", "cache", [&] {
    state.session->device().require_here("reload the cache");
    state.exchange->reload();
    state.planner->forget();
  });
}

}  // namespace vostok
