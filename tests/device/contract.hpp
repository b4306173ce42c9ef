// What every product promises, element by element, whichever family computes it: an error below so many units of 2^-19
// of the sum of the products' magnitudes, IEEE's answer where an element that the mask names is not finite, and nothing
// from those it lacks.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "device/devices.hpp"
#include "device/distributions.hpp"
#include "device/kernel_devices.hpp"
#include "ops/family.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/topology_state.hpp"
#include "sparse/elements.hpp"

namespace vostok::test {

inline constexpr double accurate_unit = 1.0 / (1 << 19);
inline constexpr double most_units = 8;      ///< of all finite operands: 2^-16
inline constexpr double ordinary_units = 1;  ///< of data that was not built so that all roundings go one way: 2^-19

/// The sum of one output's products in float64, and that of their magnitudes.
struct ExactSum {
  double sum = 0;
  double magnitude = 0;

  void add(double a, double b) {
    sum += a * b;
    magnitude += std::fabs(a * b);
  }
};

/// How far outputs are from their sums.
struct Distance {
  double units = 0;        ///< the worst, of accurate_unit of its magnitude
  std::string wrong = {};  ///< the first that is not finite where it should be, or finite where it should not

  void take(float found, const ExactSum& exact, std::size_t index) {
    if (!std::isfinite(exact.sum)) {
      const bool same = std::isnan(exact.sum) ? std::isnan(found) : static_cast<double>(found) == exact.sum;
      if (!same && wrong.empty()) wrong = fmt::format("element {} is {}, IEEE has {}", index, found, exact.sum);
      return;
    }
    constexpr double largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::min();
    if (exact.magnitude > largest) return;  // outside f32's normal range nothing is promised
    if (!std::isfinite(found)) {
      if (wrong.empty()) wrong = fmt::format("element {} is {}, and should be {}", index, found, exact.sum);
      return;
    }
    const double error = std::max(0.0, std::fabs(static_cast<double>(found) - exact.sum) - smallest);
    if (error > 0) units = std::max(units, error / (accurate_unit * exact.magnitude));
  }
};

inline constexpr Dtype element_types[] = {Dtype::f32, Dtype::f16, Dtype::bf16};

/// Numbers as the type holds them.
inline std::vector<float> held(Dtype type, const std::vector<float>& values) {
  return sparse::from_storage(type, sparse::to_storage(type, values));
}

/// Units that the contract allows sums of so many products: of 16-bit operands, whose products are exact, 2^-24 for
/// each.
inline double allowed_units(Dtype element, std::int64_t products, double of_f32) {
  return element == Dtype::f32 ? of_f32
                               : std::max(of_f32, std::ldexp(static_cast<double>(products), -24) / accurate_unit);
}

/// Operands in device memory, in their type.
inline device::Buffer stored(device::Device& device, Dtype type, const std::vector<float>& values) {
  const std::vector<std::byte> bytes = sparse::to_storage(type, values);
  device::Buffer buffer(device, static_cast<std::int64_t>(bytes.size()));
  if (!bytes.empty()) device.copy_to_device(buffer.data(), bytes.data(), buffer.bytes());
  return buffer;
}

/// Each thread order of each product would take ThreadSanitizer hours; races are looked for by the families' own tests.
inline bool left_to_other_builds() {
  if (thread_sanitized) MESSAGE("skipped: hundreds of products take ThreadSanitizer hours, the other builds run them");
  return thread_sanitized;
}

/// A context for each device, so that products of one case share what was compiled.
class EveryDevice {
 public:
  EveryDevice() {
    for (const std::string& name : device_names()) contexts_.emplace_back(name, memory_context(name));
  }
  /// body(context) on each of them.
  template <class Body>
  void each(Body&& body) const {
    for (const auto& [name, context] : contexts_) {
      CAPTURE(name);
      body(context);
    }
  }

 private:
  std::vector<std::pair<std::string, Context>> contexts_;
};

/// Every family of the operation errs by at most so many units, on every device. Returns the most that one erred by.
/// Operands have an `operation`, a `mask`, an `element`, a problem(), and longest(), the most products of an output;
/// beside them stand exact() and run().
template <class Operands>
double check_every_family(const EveryDevice& devices, const Operands& of, double units) {
  const std::vector<ExactSum> sums = exact(of);
  const double allowed = allowed_units(of.element, of.longest(), units);
  double worst = 0;
  devices.each([&](const Context& context) {
    const Topology topology = context.topology(of.mask.view());
    const auto query = ops::make_query(of.problem(), topology.state()->statistics(), {of.n, of.n}, &device_of(context));
    int ran = 0;
    for (const auto& listed : ops::families(Operands::operation)) {
      const std::string family(listed->name());
      if (listed->declines(*query)) continue;
      CAPTURE(family);
      const std::vector<float> output = run(context, of, topology, family);
      Distance found;
      for (std::size_t i = 0; i < sums.size(); ++i) found.take(output[i], sums[i], i);
      CAPTURE(found.units);
      CHECK_MESSAGE(found.wrong.empty(), found.wrong);
      CHECK(found.units <= allowed);
      worst = std::max(worst, found.units);
      ++ran;
    }
    CHECK(ran > 0);
  });
  return worst;
}

}  // namespace vostok::test
