#include "sparse/read.hpp"

#include <algorithm>
#include <array>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "sparse/inflate.hpp"
#include "sparse/text_file.hpp"

namespace vostok::sparse {
namespace {

namespace fs = std::filesystem;

using Parse = Csr (*)(const Source& source);

struct FileKind {
  std::string_view extension;
  std::string_view first_bytes;  // of what comes through a pipe, which has no name
  Parse parse;
};

Csr parse_packed(const Source& source);

constexpr std::array file_kinds = {FileKind{".smtx", "", parse_smtx}, FileKind{".mtx", "%", parse_mtx},
                                   FileKind{".npy", "\x93NUMPY", parse_npy}, FileKind{".npz", "PK", parse_npz},
                                   FileKind{".gz", "\x1f\x8b", parse_packed}};

/// Nothing where it is none of those known; also for .gz behind another extension.
Parse by_extension(const fs::path& path) {
  const std::string extension = path.extension().string();
  const auto kind = std::find_if(file_kinds.begin(), file_kinds.end(),
                                 [&](const FileKind& known) { return known.extension == extension; });
  if (kind == file_kinds.end() || (extension == ".gz" && by_extension(path.stem()) == nullptr)) return nullptr;
  return kind->parse;
}

Parse by_first_bytes(std::string_view bytes) {
  for (const FileKind& kind : file_kinds)
    if (!kind.first_bytes.empty() && bytes.starts_with(kind.first_bytes)) return kind.parse;
  return parse_smtx;
}

/// The name without .gz says what is inside; without a known one, the first bytes.
Csr parse_packed(const Source& source) {
  const std::string bytes = inflate_gzip(source);
  const auto left = source.memory_bytes - static_cast<std::int64_t>(bytes.size());
  const Source inside = {.bytes = bytes, .name = source.name, .memory_bytes = left};
  const Parse named = by_extension(fs::path(source.name).stem());
  const Parse parse_it = named != nullptr ? named : by_first_bytes(bytes);
  if (parse_it == parse_packed) refuse(source, ErrorCode::unsupported, "it is packed twice");
  return parse_it(inside);
}

[[noreturn]] void refuse_extension(const fs::path& path) {
  fail(ErrorCode::invalid_argument, "cannot read {}: the extension is '{}', not {}", printable(path.string()),
       printable(path.extension().string()), known_extensions);
}

}  // namespace

bool has_known_extension(const fs::path& path) { return by_extension(path) != nullptr; }

Csr parse(const Source& source) {
  const Parse parse_it = by_extension(source.name);
  if (parse_it == nullptr) refuse_extension(source.name);
  return parse_it(source);
}

Csr read(const fs::path& path) {
  const Parse named = by_extension(path);
  std::error_code ignored;  // what is missing or cannot be seen is told when it is opened
  if (named == nullptr && fs::is_regular_file(path, ignored)) refuse_extension(path);
  const std::string bytes = read_bytes(path);
  const Source source = {.bytes = bytes, .name = path.string()};
  return named != nullptr ? named(source) : by_first_bytes(bytes)(source);
}

DenseArray read_array(const fs::path& path) {
  const std::string bytes = read_bytes(path);
  return parse_array({.bytes = bytes, .name = path.string()});
}

}  // namespace vostok::sparse
