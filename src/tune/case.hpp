// One problem with random operands on a device: what the tuner, the tool and the benchmarks run and verify. Each
// operation has its own, in tune/<operation>_case.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <vostok/packed.hpp>
#include <vostok/topology.hpp>

#include "base/text.hpp"

namespace vostok::tune {

/// The result of a verification.
struct Check {
  double error = 0;        ///< normwise, against float64
  double tolerance = 0;    ///< error bound of this problem
  std::string wrong = {};  ///< what is wrong; empty: verified
  bool imprecise = false;  ///< `wrong` is the error alone: a larger tolerance may excuse it, but no unwritten element
};

/// Says that the error is above the tolerance, if nothing else is wrong.
inline void hold_to_tolerance(Check& check) {
  if (!check.wrong.empty() || check.error <= check.tolerance) return;
  check.wrong = fmt::format("error {:.2e} is above the tolerance {:.2e}", check.error, check.tolerance);
  check.imprecise = true;
}

/// Device memory behind one of the pointers of a case's arguments.
struct CaseOperand {
  std::size_t at = 0;          ///< offset of the pointer in the arguments, in bytes
  const void* data = nullptr;  ///< the pointer
  std::int64_t bytes = 0;
};

/// Multiply-adds that a reference may cost; above that, only a sample is compared.
inline constexpr std::int64_t most_reference_work = 4'000'000'000;

/// Returns `value`; invalid_argument, naming the field, if it is 0 and leaves nothing to make operands for.
inline std::int64_t some(const char* field, std::int64_t value) {
  if (value == 0) fail(ErrorCode::invalid_argument, "cannot make operands: {} = 0 leaves nothing to compute", field);
  return value;
}

class Case {
 public:
  virtual ~Case() = default;
  /// The operation's Arguments for `execute`, with n set.
  virtual const void* arguments() const = 0;
  /// The arguments as `execute` hands them to launches.
  virtual const void* launch_arguments() { return arguments(); }
  virtual std::size_t argument_bytes() const { return 0; }
  /// The inputs and outputs that a call moves, except scalars and packed values: a cold call finds them in memory.
  virtual std::vector<CaseOperand> operands() const { return {}; }
  /// Sets the workspace in the arguments.
  virtual void set_workspace(void* workspace) = 0;
  /// The sparse values as `execute` and Plan::pack take them, if the operation has any.
  virtual const void* values() const { return nullptr; }
  /// Sets packed values in the arguments in place of the values, for a plan whose values are persistent.
  virtual void set_packed(PackedReference) {}
  /// The useful floating-point operations.
  virtual double flops() const = 0;
  /// Poisons outputs and guard bands, runs `enqueue` once and checks: every element is written, nothing else is
  /// touched, and the error against float64 is within its bound. Very large outputs are compared on a seeded sample.
  virtual Check verify(const std::function<void(Stream)>& enqueue) = 0;
  /// Gives the inputs other scales, whose results are the same (tune/wide_operands.hpp), or, where not `wide`, those
  /// that they had. False, and nothing done, where the problem promises nothing for such operands.
  virtual bool widen(bool) { return false; }
};

/// A case whose arguments have a type.
template <class Call>
class CaseOf : public Case {
 public:
  const void* arguments() const final { return &arguments_; }
  const Call& call() const { return arguments_; }
  void set_workspace(void* workspace) final { arguments_.workspace = workspace; }
  std::size_t argument_bytes() const final { return sizeof(Call); }

 protected:
  template <class Pointer>
  CaseOperand operand(Pointer Call::* member, std::int64_t bytes) const {
    const auto* const start = reinterpret_cast<const std::byte*>(&arguments_);
    const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(arguments_.*member)) - start);
    return {.at = at, .data = arguments_.*member, .bytes = bytes};
  }

  Call arguments_ = {};
};

}  // namespace vostok::tune
