// Rules that mask known-bad configs in files already shipped. They come in newer files and apply at every look-up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/plan.hpp>

#include "cache/database.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

/// A masking rule. Empty fields match everything.
struct Erratum {
  std::string id = {};
  std::string operation = {};
  std::string family = {};
  FieldMap config = {};           ///< every field listed must have this value
  FieldMap exact = {};            ///< of the problem's exact text; every field listed must have this value
  std::string architecture = {};  ///< of the device that would run it
  std::string code_digest = {};
  std::string last_library_version = {};  ///< choices made by later versions are good
  std::string reason = {};
  std::int64_t created_at = 0;  ///< Unix seconds
};

/// Unreadable rows are skipped and mask nothing.
std::vector<Erratum> all_errata(Connection& connection);
/// Adds or replaces.
void store_erratum(Connection& connection, const Erratum& erratum);

/// A choice, measured or won, as rules compare it.
struct MaskedChoice {
  const plan::ProblemKey& problem;
  std::string_view architecture;
  std::string_view family;
  const FieldMap& config;
  std::string_view code_digest;
  std::string_view library_version;
};

bool masks(const Erratum& erratum, const MaskedChoice& choice);
bool masked(const std::vector<Erratum>& errata, const MaskedChoice& choice);

}  // namespace vostok::cache
