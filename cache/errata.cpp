#include "cache/errata.hpp"

#include <algorithm>

#include "base/field_map.hpp"
#include "cache/versions.hpp"

namespace vostok::cache {

namespace {

bool names(const std::string& rule, std::string_view value) { return rule.empty() || rule == value; }

bool has_all(const FieldMap& fields, const FieldMap& named) {
  return std::all_of(named.begin(), named.end(), [&](const auto& field) {
    const auto found = fields.find(field.first);
    return found != fields.end() && found->second == field.second;
  });
}

/// A text that is not a field map counts as matching: it might be the one that the rule means.
bool exact_matches(const FieldMap& rule, const std::string& exact) {
  if (rule.empty()) return true;
  const auto fields = parse_field_map(exact);
  return !fields || has_all(*fields, rule);
}

}  // namespace

std::vector<Erratum> all_errata(Connection& connection) {
  std::vector<Erratum> errata;
  Statement row = connection.query(
      "SELECT id, operation, family, config, exact, architecture, code_digest, last_library_version, reason, "
      "created_at FROM errata ORDER BY id");
  while (row.step()) {
    auto config = parse_field_map(row.text(3));
    auto exact = parse_field_map(row.text(4));
    if (!config || !exact) continue;
    errata.push_back({.id = row.text(0),
                      .operation = row.text(1),
                      .family = row.text(2),
                      .config = *std::move(config),
                      .exact = *std::move(exact),
                      .architecture = row.text(5),
                      .code_digest = row.text(6),
                      .last_library_version = row.text(7),
                      .reason = row.text(8),
                      .created_at = row.integer(9)});
  }
  return errata;
}

void store_erratum(Connection& connection, const Erratum& erratum) {
  connection.run(
      "INSERT OR REPLACE INTO errata(id, operation, family, config, exact, architecture, code_digest, "
      "last_library_version, reason, created_at)"
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      erratum.id, erratum.operation, erratum.family, to_text(erratum.config), to_text(erratum.exact),
      erratum.architecture, erratum.code_digest, erratum.last_library_version, erratum.reason, erratum.created_at);
}

bool masks(const Erratum& erratum, const MaskedChoice& choice) {
  return names(erratum.operation, choice.problem.operation) && names(erratum.family, choice.family) &&
         names(erratum.architecture, choice.architecture) && names(erratum.code_digest, choice.code_digest) &&
         (erratum.last_library_version.empty() || !is_newer(choice.library_version, erratum.last_library_version)) &&
         has_all(choice.config, erratum.config) && exact_matches(erratum.exact, choice.problem.exact);
}

bool masked(const std::vector<Erratum>& errata, const MaskedChoice& choice) {
  return std::any_of(errata.begin(), errata.end(), [&](const Erratum& erratum) { return masks(erratum, choice); });
}

}  // namespace vostok::cache
