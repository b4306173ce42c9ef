// The interface of a packed format to plans and files of packed values. packed_formats.cpp lists all formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/enums.hpp>

#include "ops/family.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

/// The packing, without the pointers of a call.
struct PackTask {
  TopologyPointers topology =
      {};                      ///< the form that the format needs; may be empty, to get only the kernel and its shape
  Dtype element = Dtype::f32;  ///< of the values
  std::int64_t value_stride = 0;  ///< elements between two sets of values
  std::int64_t sets = 1;
  int multiprocessors = usual_multiprocessors;
};

/// The pointers of a call.
struct Packing {
  const void* values = nullptr;  ///< [sets, nonzeros] in CSR order of A
  void* packed = nullptr;        ///< sets of the format's bytes, 256-byte aligned
};

/// A packed format; stateless, one for each name. Packing writes every used byte. Values, and what is computed from
/// values alone, fill units of 2 or 4 bytes; all other bytes depend only on the structure. Files of packed values are
/// checked by that.
class PackedFormat {
 public:
  virtual ~PackedFormat() = default;
  /// "strip16x64/pair/f16x3": the name that Family::packed_format returns.
  virtual std::string name() const = 0;
  /// The topology's form from which it is made, and which kernels read beside it. The caller adds whether that is of A
  /// or of A^T.
  virtual TopologyNeeds needs() const = 0;
  /// Bytes of one set of values, a multiple of 256.
  virtual std::int64_t set_bytes(const TopologyPointers& form) const = 0;
  /// The bytes at the start of a set that packing writes.
  virtual std::int64_t used_bytes(const TopologyPointers& form) const = 0;
  /// Packs the values of a Packing, in one pass.
  virtual Launch pack_launch(const PackTask& task) const = 0;
  /// The types of values that it can be made of, the most common first.
  virtual std::vector<Dtype> value_types() const = 0;
};

/// Every format, in a fixed order.
const std::vector<std::unique_ptr<PackedFormat>>& packed_formats();
/// The format of this name; nullptr if unknown.
const PackedFormat* find_packed_format(std::string_view name);

}  // namespace vostok::ops
