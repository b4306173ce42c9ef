// What the planner asks of an SpMM family. One file per family implements it; families.cpp lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/plan.hpp>
#include <vostok/problem.hpp>

#include "codegen/source.hpp"
#include "device/device.hpp"

namespace vostok::ops {

/// The sizes that one launch serves: the multiples of `multiple` in [least, most].
struct SizeRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t multiple = 1;

  bool one_size() const { return least == most; }
  /// What divides every size served.
  std::int64_t divisor() const { return one_size() ? most : multiple; }
  bool serves(std::int64_t n) const { return n >= least && n <= most && n % multiple == 0; }

  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// A problem with everything resolved that families look at.
struct SpmmQuery {
  Spmm problem;  ///< output, leading dimensions and index resolved
  TopologyStatistics statistics;
  SizeRange n;  ///< the plan must serve every one of these; decided and measured for n.most
  const device::Device* device = nullptr;
};

/// Device pointers of a topology that kernels read. Derived forms may be null where no config of the plan asks for them.
struct TopologyPointers {
  const std::int32_t* row_offsets = nullptr;  ///< m + 1
  const std::int32_t* column_indices = nullptr;
  const std::int32_t* row_order = nullptr;  ///< rows by length, longest first (row swizzle, paper V-C)
};

/// A launch with every decision made: what `execute` walks through. Trivially copyable but for the kernel.
struct SpmmLaunch {
  std::shared_ptr<const device::Kernel> kernel;
  device::LaunchShape shape;  ///< grid is set per n
  std::size_t argument_bytes = 0;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t nonzeros = 0;
  std::int64_t dense_leading = 0;   ///< 0: n
  std::int64_t output_leading = 0;  ///< 0: n
  std::int64_t tile_rows = 1;
  std::int64_t tile_columns = 1;
  TopologyPointers topology;
  /// Fills the kernel's arguments (at `arguments`, argument_bytes long) and returns the grid.
  device::Dim3 (*bind)(const SpmmLaunch& launch, const SpmmArguments& user, std::int64_t n, void* arguments) = nullptr;
};

/// Largest argument struct of any family: `execute` keeps it on the stack.
inline constexpr std::size_t max_argument_bytes = 512;

class SpmmFamily {
 public:
  virtual ~SpmmFamily() = default;
  virtual std::string_view name() const = 0;
  /// Why this family cannot serve the query at all; nothing where it can.
  virtual std::optional<std::string> declines(const SpmmQuery& query) const = 0;
  /// The default config (the paper's heuristic for row_tile). Always legal where the family does not decline.
  virtual FieldMap default_config(const SpmmQuery& query) const = 0;
  /// Every config of the space, legal or not, default first, no repeats.
  virtual std::vector<FieldMap> space(const SpmmQuery& query) const = 0;
  /// A few configs that are worth racing first, best guess first, the default among them; some may be forbidden.
  virtual std::vector<FieldMap> short_list(const SpmmQuery& query) const = 0;
  /// Why the rules forbid this config here; nothing where they admit it. Also for configs from caches.
  virtual std::optional<std::string> forbidden(const SpmmQuery& query, const FieldMap& config) const = 0;
  /// The specialisation. The config must be admitted.
  virtual codegen::KernelRequest kernel(const SpmmQuery& query, const FieldMap& config) const = 0;
  /// Everything of the launch but `kernel` and `topology`.
  virtual SpmmLaunch launch(const SpmmQuery& query, const FieldMap& config) const = 0;
  /// Whether the config reads the row order (a derived form).
  virtual bool needs_row_order(const FieldMap& config) const = 0;
  /// Cost model: predicted microseconds, for ranking only.
  virtual double predict_us(const SpmmQuery& query, const FieldMap& config) const = 0;
};

/// Every SpMM family, in a fixed order.
const std::vector<std::unique_ptr<SpmmFamily>>& spmm_families();
/// By name; nullptr where unknown (a cache row of a newer version).
const SpmmFamily* find_spmm_family(std::string_view name);

}  // namespace vostok::ops
