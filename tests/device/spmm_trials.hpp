// What is asked of every SpMM family, below the planner: every field in every value, the same bits in every thread
// order, and that nothing leaks from where it does not belong. How a case is run is the family's own.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/fields.hpp"
#include "device/config_walk.hpp"
#include "device/kernel_devices.hpp"
#include "ops/copy_engine.hpp"
#include "ops/spmm/problem.hpp"
#include "tune/spmm_host.hpp"

namespace vostok::test {

/// A family under test. A `Case` is a product: `host` (tune::SpmmHost) and `query(device)`.
template <class Case>
struct Subject {
  const ops::Family& family;
  std::vector<NamedDevice> devices;  ///< that the family runs on
  FieldValues values;                ///< to try for each field
  std::vector<float> (*run)(const NamedDevice& on, const Case& c,
                            const ops::Config& config) = nullptr;                            ///< C as it is stored
  void (*check)(const NamedDevice& on, const Case& c, const ops::Config& config) = nullptr;  ///< against float64
  bool slow = false;                             ///< ThreadSanitizer takes too long for more than one value of a field
  std::vector<std::string> of_copy_engine = {};  ///< fields whose values but the first need one (ops::has_copy_engine)

  ops::Config default_config(const NamedDevice& on, const Case& c) const {
    return family.default_config(c.query(on.device.get()));
  }
  ops::Config random_config(const NamedDevice& on, const Case& c, sparse::Random& random) const {
    return test::random_config(family, c.query(on.device.get()), values, random);
  }
  /// Whether a device cannot run what has this value.
  bool lacks(const NamedDevice& on, const Case& c, const std::string& field, const std::string& value) const {
    const bool special = std::find(of_copy_engine.begin(), of_copy_engine.end(), field) != of_copy_engine.end() &&
                         value != values.at(field).front();
    return special && !ops::has_copy_engine(c.query(on.device.get()));
  }
  /// Of the admitted configs of the space.
  ops::Config space_config(const NamedDevice& on, const Case& c, sparse::Random& random) const {
    return test::space_config(family, c.query(on.device.get()), random);
  }
};

/// Every field of the family's Config is tried.
template <class Config>
void require_every_field(const FieldValues& values) {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(Config{})) fields.insert(field);
  for (const auto& [field, list] : values) tried.insert(field);
  REQUIRE(fields == tried);
}

/// Each value of each field, in a random config of the first case that admits it and of which `fits(case, field,
/// value)` is true. The thread orders take turns.
template <class Case, class Fits>
void check_every_value(const Subject<Case>& subject, const std::vector<Case>& cases, std::uint64_t seed, Fits&& fits) {
  for (const std::vector<NamedDevice>& group : device_groups(subject.devices)) {
    std::set<std::pair<std::string, std::string>> seen;
    sparse::Random random(seed);
    std::size_t turn = 0;
    for (const auto& [field, values] : subject.values)
      for (const std::string& value : values) {
        if (seen.contains({field, value}) || (thread_sanitized && subject.slow && value != values.front())) continue;
        const NamedDevice& on = group[turn++ % group.size()];
        INFO(on.name, ": ", field, " = ", value);
        if (subject.lacks(on, cases.front(), field, value)) {
          MESSAGE("skipped: " << on.name << " has no copy engine for " << field);
          continue;
        }
        for (const Case& c : cases) {
          if (!fits(c, field, value)) continue;
          const std::optional<ops::Config> config =
              walk(subject.family, c.query(on.device.get()), subject.values, random, field, value);
          if (!config) continue;
          for (const auto& [name, own] : config->to_map()) seen.insert({name, own});
          subject.check(on, c, *config);
          break;
        }
        CHECK(seen.contains({field, value}));
      }
  }
}

template <class Case>
void check_every_value(const Subject<Case>& subject, const std::vector<Case>& cases, std::uint64_t seed) {
  check_every_value(subject, cases, seed, [](const Case&, const std::string&, const std::string&) { return true; });
}

/// The emulator's thread orders give the same bits.
template <class Case>
void check_every_order(const Subject<Case>& subject, const Case& c, const ops::Config& config) {
  std::optional<std::vector<float>> first;
  for (const NamedDevice& on : subject.devices) {
    if (!on.is_emulator()) continue;
    const std::vector<float> output = subject.run(on, c, config);
    if (!first) first = output;
    CHECK(output == *first);
  }
}

/// C of each product, row by row, of a case and of the case spoilt.
struct Spoiling {
  std::vector<std::vector<float>> before, after;

  template <class Case>
  Spoiling(const Subject<Case>& subject, const NamedDevice& on, const Case& clean, const Case& spoilt,
           const ops::Config& config)
      : before(products(clean, subject.run(on, clean, config))),
        after(products(spoilt, subject.run(on, spoilt, config))) {}

 private:
  template <class Case>
  static std::vector<std::vector<float>> products(const Case& c, const std::vector<float>& stored) {
    std::vector<std::int64_t> columns(static_cast<std::size_t>(c.problem().n));
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<std::vector<float>> list;
    for (std::int64_t product = 0; product < c.problem().batch; ++product)
      list.push_back(c.host.columns_of(stored, product, columns));
    return list;
  }
};

/// Values of some rows that are not finite, one of every `step` in each: all of those rows and nothing else.
template <class Case>
void check_rows_stay_apart(const Subject<Case>& subject, const NamedDevice& on, const Case& clean,
                           const ops::Config& config, std::int64_t step = 1) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const sparse::Csr& a = clean.host.walked;
  const std::int64_t n = clean.problem().n;
  Case spoilt = clean;
  std::set<std::int64_t> rows;
  for (std::int64_t r = 3; r < a.rows; r += 7)
    for (std::int64_t e = a.row_offsets[static_cast<std::size_t>(r)];
         e < a.row_offsets[static_cast<std::size_t>(r) + 1]; e += step) {
      spoilt.host.values[static_cast<std::size_t>(e)] = e % 2 == 0 ? NAN : e % 4 == 1 ? infinity : -infinity;
      rows.insert(r);
    }
  INFO(on.name, ", ", to_text(config.to_map()));
  const Spoiling c(subject, on, clean, spoilt, config);
  for (std::int64_t i = 0; i < a.rows * n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (rows.contains(i / n)) REQUIRE(!std::isfinite(c.after[0][at]));
    else REQUIRE(c.after[0][at] == c.before[0][at]);
  }
}

/// Elements (k, j) of B that are not finite where spoils(k, j): every element of C that uses one, and no other column.
/// Nor any other element where products with A's zeros are none (`only_used`).
template <class Case, class Spoils>
void check_columns_stay_apart(const Subject<Case>& subject, const NamedDevice& on, const Case& clean,
                              const ops::Config& config, bool only_used, Spoils&& spoils) {
  const sparse::Csr& a = clean.host.walked;
  const std::int64_t n = clean.problem().n;
  Case spoilt = clean;
  std::set<std::int64_t> columns;
  for (std::int64_t k = 0; k < a.cols; ++k)
    for (std::int64_t j = 0; j < n; ++j) {
      if (!spoils(k, j)) continue;
      spoilt.host.dense[static_cast<std::size_t>(k * n + j)] =
          k % 2 == 0 ? NAN : std::numeric_limits<float>::infinity();
      columns.insert(j);
    }
  INFO(on.name, ", ", to_text(config.to_map()));
  const Spoiling c(subject, on, clean, spoilt, config);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto begin = a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r)];
    const auto end = a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r) + 1];
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(r * n + j);
      if (std::any_of(begin, end, [&](std::int32_t k) { return spoils(k, j); }))
        REQUIRE(!std::isfinite(c.after[0][at]));
      else if (only_used || !columns.contains(j)) REQUIRE(c.after[0][at] == c.before[0][at]);
    }
  }
}

/// The second product of a batch of NaN: it is NaN, and the others are what they were.
template <class Case>
void check_products_stay_apart(const Subject<Case>& subject, const NamedDevice& on, const Case& clean,
                               const ops::Config& config) {
  Case spoilt = clean;
  const auto spoil = [](std::vector<float>& all, std::int64_t stride) {
    for (std::int64_t i = stride; i < 2 * stride; ++i) all[static_cast<std::size_t>(i)] = NAN;
  };
  spoil(spoilt.host.values, spoilt.host.value_stride);
  spoil(spoilt.host.dense, spoilt.host.dense_shape.stride);
  spoil(spoilt.host.residual, spoilt.host.output_shape.stride);
  INFO(on.name, ", ", to_text(config.to_map()));
  const Spoiling c(subject, on, clean, spoilt, config);
  for (std::size_t product = 0; product < c.before.size(); ++product)
    for (std::size_t i = 0; i < c.before[product].size(); ++i) {
      if (product == 1) REQUIRE(std::isnan(c.after[product][i]));
      else REQUIRE(c.after[product][i] == c.before[product][i]);
    }
}

}  // namespace vostok::test
