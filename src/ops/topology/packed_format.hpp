// What plans and files of packed values ask of a format, whichever it is. packed_formats.cpp lists them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/enums.hpp>

#include "ops/family.hpp"

namespace vostok::ops {

/// What is packed, but for pointers of a call.
struct PackTask {
  TopologyPointers topology = {};  ///< the form that the format needs; may be empty, for the kernel and its shape alone
  Dtype element = Dtype::f32;      ///< of the values
  std::int64_t value_stride = 0;   ///< elements between two sets of values
  std::int64_t sets = 1;
  int multiprocessors = 132;
};

/// The pointers of a call.
struct Packing {
  const void* values = nullptr;  ///< [sets, nonzeros] in CSR order of A
  void* packed = nullptr;        ///< sets of the format's bytes, 256-byte aligned
};

/// Stateless, one for each name. Packing writes every byte that is used: in 2 or 4 bytes each the values, or what is made of them alone, the rest as
/// the structure says, whatever the values. Files of packed values are checked by that.
class PackedFormat {
 public:
  virtual ~PackedFormat() = default;
  /// "strip16x64/pair/f16x3": what Family::packed_format answers.
  virtual std::string name() const = 0;
  /// The topology's form that it is made from, and that kernels read beside it. Whether of A or of A^T is the caller's.
  virtual TopologyNeeds needs() const = 0;
  /// Bytes of one set of values, a multiple of 256.
  virtual std::int64_t set_bytes(const TopologyPointers& form) const = 0;
  /// How many of them, from the first on, packing writes.
  virtual std::int64_t used_bytes(const TopologyPointers& form) const = 0;
  /// Packs the values of a Packing, in one pass.
  virtual Launch pack_launch(const PackTask& task) const = 0;
  /// Types of values that it is made of; first the one that most are.
  virtual std::vector<Dtype> value_types() const = 0;
};

/// Every format, in a fixed order.
const std::vector<std::unique_ptr<PackedFormat>>& packed_formats();
/// By name; nullptr where unknown.
const PackedFormat* find_packed_format(std::string_view name);

}  // namespace vostok::ops
