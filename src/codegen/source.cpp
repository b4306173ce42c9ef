#include "codegen/source.hpp"

#include <algorithm>
#include <set>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace vostok::codegen {

namespace {

/// Raised when the argument structs or the launch protocol change in a way that the templates' text does not show.
constexpr int abi_revision = 1;

const device::Header& find_template(std::string_view name) {
  for (const device::Header& header : embedded_templates())
    if (header.name == name) return header;
  fail(ErrorCode::internal, "cannot find template \"{}\": it is not embedded in this library", name);
}

/// The name in `#include "name"`, or nothing.
std::optional<std::string_view> included_name(std::string_view line) {
  constexpr std::string_view directive = "#include \"";
  if (!line.starts_with(directive)) return std::nullopt;
  line.remove_prefix(directive.size());
  return line.substr(0, line.find('"'));
}

std::string target_of(const KernelRequest& request, std::string_view architecture) {
  return std::string(architecture) + request.features;
}

template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void collect(std::string_view name, std::set<std::string_view>& seen, std::vector<device::Header>& closure) {
  const device::Header& header = find_template(name);
  if (!seen.insert(header.name).second) return;
  for_each_line(header.text, [&](std::string_view line) {
    if (auto included = included_name(line)) collect(*included, seen, closure);
  });
  closure.push_back(header);
}

}  // namespace

std::vector<device::Header> include_closure(std::string_view header) {
  std::set<std::string_view> seen;
  std::vector<device::Header> closure;
  collect(header, seen, closure);
  return closure;
}

const std::string& closure_digest(std::string_view header) {
  return embedded_digests()[static_cast<std::size_t>(&find_template(header) - embedded_templates().data())];
}

device::Source make_source(const KernelRequest& request, std::string_view architecture) {
  return {.family = request.family,
          .text = fmt::format("#include \"{}\"\n", request.header),
          .expression = request.expression,
          .headers = include_closure(request.header),
          .architecture = target_of(request, architecture)};
}

std::string code_key(const KernelRequest& request, std::string_view architecture, std::vector<std::string> options,
                     std::string_view compiler_identity) {
  std::sort(options.begin(), options.end());
  Digest digest;
  digest.add("vostok code")
      .add(abi_revision)
      .add(request.family)
      .add(request.header)
      .add(closure_digest(request.header))
      .add(request.expression);
  digest.add(target_of(request, architecture)).add(compiler_identity).add(static_cast<std::int64_t>(options.size()));
  for (const std::string& option : options) digest.add(option);
  return digest.hex();
}

}  // namespace vostok::codegen
