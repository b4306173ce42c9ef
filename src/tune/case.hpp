// One problem with random operands on a device: what the tuner, the tool and the benchmarks run and verify. Each operation
// has its own, in tune/<operation>_case.cpp.
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

/// How right an output is.
struct Check {
  double error = 0;        ///< normwise, against float64
  double tolerance = 0;    ///< what this problem is held to
  std::string wrong = {};  ///< what is wrong; empty: verified
};

/// Device memory behind one of the pointers of a case's arguments.
struct CaseOperand {
  std::size_t at = 0;          ///< of the pointer in the arguments, in bytes
  const void* data = nullptr;  ///< the pointer
  std::int64_t bytes = 0;
};

/// Multiply-adds that a reference may cost; beyond, a sample is compared.
inline constexpr std::int64_t most_reference_work = 4'000'000'000;

/// `value`; invalid_argument where there is nothing to make operands for, naming the field.
inline std::int64_t some(const char* field, std::int64_t value) {
  if (value == 0) fail(ErrorCode::invalid_argument, "cannot make operands: {} = 0 leaves nothing to compute", field);
  return value;
}

class Case {
 public:
  virtual ~Case() = default;
  /// The operation's Arguments for `execute`: its n is set.
  virtual const void* arguments() const = 0;
  /// The same as `execute` hands them to launches.
  virtual const void* launch_arguments() { return arguments(); }
  virtual std::size_t argument_bytes() const { return 0; }
  /// Inputs and outputs that a call moves, but for scalars and packed values: those that a cold call finds in memory.
  virtual std::vector<CaseOperand> operands() const { return {}; }
  /// Puts a workspace into the arguments.
  virtual void set_workspace(void* workspace) = 0;
  /// The sparse values as `execute` and Plan::pack take them, where the operation has some.
  virtual const void* values() const { return nullptr; }
  /// Puts packed values into the arguments, in place of those: for a plan whose values persist.
  virtual void set_packed(PackedReference) {}
  /// The useful floating-point operations.
  virtual double flops() const = 0;
  /// Poisons outputs and guard bands, runs `enqueue` once and checks: every element written, nothing else touched, the
  /// error against float64. Very large outputs are compared on a seeded sample.
  virtual Check verify(const std::function<void(Stream)>& enqueue) = 0;
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
