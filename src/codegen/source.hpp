// From a family's template and an expression to something a compiler takes, and to its key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace vostok::codegen {

/// One kernel, named: the family, its template ("spmm/row_tile.h") and the specialisation.
struct KernelRequest {
  std::string family;
  std::string header;
  std::string expression;
  std::string features = {};  ///< what its instructions add to the architecture's name: "a" for those of sm_90a alone
};

/// Every file of templates/, embedded at build time; names are paths below templates/.
const std::vector<device::Header>& embedded_templates();

/// Of each of them: the digest of its closure's text with comments and blank lines left out. Made at build time
/// (embed.cmake).
const std::vector<std::string>& embedded_digests();

/// The files that `header` includes, itself last, in dependency order (each after what it includes).
std::vector<device::Header> include_closure(std::string_view header);

/// One of embedded_digests(), by name.
const std::string& closure_digest(std::string_view header);

device::Source make_source(const KernelRequest& request, std::string_view architecture);

/// Code key: length-framed digest over closure, expression, sorted options, architecture and ABI revision; with
/// `compiler_identity` (emulator) it is a field too.
std::string code_key(const KernelRequest& request, std::string_view architecture, std::vector<std::string> options,
                     std::string_view compiler_identity);

}  // namespace vostok::codegen
