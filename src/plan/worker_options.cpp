#include "plan/worker_options.hpp"

#include <concepts>
#include <limits>
#include <string>

#include "base/number_text.hpp"
#include "base/text.hpp"

namespace vostok::plan {

namespace {

/// The one list of fields for both directions: visit(name, value).
template <class O, class Visit>
void visit_options(O& options, Visit&& visit) {
  visit("cache.enabled", options.cache.enabled);
  visit("cache.folder", options.cache.folder);
  visit("cache.read_only", options.cache.read_only);
  visit("cache.environment", options.cache.environment);
  visit("cache.allow_network_folder", options.cache.allow_network_folder);
  visit("cache.shipped", options.cache.shipped);
  visit("cache.max_code_bytes", options.cache.max_code_bytes);
  visit("cache.trusted_keys", options.cache.trusted_keys);
  visit("cache.lock_timeout_ms", options.cache.lock_timeout_ms);
  visit("max_workspace_bytes", options.max_workspace_bytes);
  visit("nvrtc", options.nvrtc);
}

using Path = std::filesystem::path;

struct Writer {
  FieldMap& fields;
  template <std::integral Number>
  void operator()(const char* name, Number value) const {
    fields[name] = std::to_string(static_cast<std::int64_t>(value));
  }
  void operator()(const char* name, const std::optional<Path>& value) const {
    if (value) fields[name] = value->string();
  }
  template <class Text>
  void operator()(const char* name, const std::vector<Text>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) fields[fmt::format("{}.{}", name, i)] = Path(values[i]).string();
  }
};

struct Reader {
  const FieldMap& fields;

  template <std::integral Number>
  void operator()(const char* name, Number& value) const {
    const auto position = fields.find(name);
    if (position == fields.end()) return;
    const auto number = parse_number<std::int64_t>(position->second);
    if (!number || *number < std::int64_t{std::numeric_limits<Number>::min()} ||
        *number > std::int64_t{std::numeric_limits<Number>::max()})
      fail(ErrorCode::invalid_argument, "cannot read the options: {} = \"{}\"", name, position->second);
    value = static_cast<Number>(*number);
  }
  void operator()(const char* name, std::optional<Path>& value) const {
    if (const auto position = fields.find(name); position != fields.end()) value = position->second;
  }
  template <class Text>
  void operator()(const char* name, std::vector<Text>& values) const {
    for (;;) {
      const auto position = fields.find(fmt::format("{}.{}", name, values.size()));
      if (position == fields.end()) return;
      values.emplace_back(position->second);
    }
  }
};

}  // namespace

FieldMap to_fields(const Options& options, const DeviceInfo& device) {
  FieldMap fields;
  visit_options(options, Writer{fields});
  fields["device"] = device.gpu ? options.device : "emulator";
  return fields;
}

Options options_from(const FieldMap& fields) {
  Options options;
  visit_options(options, Reader{fields});
  if (const auto device = fields.find("device"); device != fields.end()) options.device = device->second;
  options.worker.first_run = FirstRun::this_process;
  return options;
}

}  // namespace vostok::plan
