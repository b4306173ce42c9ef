// The interface of a kernel family to the planner and the tuner, the same for all operations. Each operation derives
// its Query from the one here and makes its families by family_of; ops/families.cpp lists them all.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/plan.hpp>

#include <abi/chunk_start.h>
#include <abi/key_tiles.h>
#include <abi/packed_runs.h>
#include <abi/packed_strips.h>
#include <abi/row_slots.h>
#include <abi/sparse_strips.h>
#include <abi/strip.h>
#include <abi/tile_lists.h>

#include "base/text.hpp"
#include "ops/config.hpp"
#include "ops/launch.hpp"

namespace vostok::ops {

/// The sizes that one choice serves: the multiples of `multiple` in [least, most].
struct SizeRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t multiple = 1;

  bool one_size() const { return least == most; }
  /// The number that divides every size served.
  std::int64_t divisor() const { return one_size() ? most : multiple; }
  bool serves(std::int64_t n) const { return n >= least && n <= most && n % multiple == 0; }

  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// A problem with everything resolved, as the planner sees it. The operation's own query adds the problem.
struct Query {
  std::string_view operation = {};  ///< "spmm": part of every key
  std::string exact = {};           ///< canonical text of every problem field that is in the exact part of cache keys
  std::string plain = {};     ///< `exact` of the problem without its epilogue (KeyRole::beside); empty if it has none
  std::string identity = {};  ///< canonical text of every problem field: the key of decisions within this process
  TopologyStatistics statistics = {};  ///< of the sparse matrix as kernels walk it: of A^T if the problem transposes A.
                                       ///< Empty without a sparse matrix
  SizeRange n = {};                    ///< the plan must serve every one of these; decided and measured for n.most
  IndexType index = IndexType::i32;    ///< never automatic
  const device::Device* device = nullptr;  ///< null: limits that every GPU since sm_75 has
  std::string only_family = {};            ///< the one family that may serve the query; empty: any
  Policy policy = Policy::warm;  ///< the cache state in which candidates are measured, and whose stored choices count
  std::optional<std::string> packed_format =
      {};  ///< only configs for which Family::packed_format returns this; shared by a plan of several n

  /// Adds a restriction on the candidates to every key: " family=row_tile".
  void add_to_keys(const std::string& restriction) {
    exact += restriction;
    if (!plain.empty()) plain += restriction;
    identity += restriction;
  }
};

using vostok::Strip;

/// The forms of a topology that a config reads. A plan's forms are built before the plan is returned.
struct TopologyNeeds {
  IndexType index = IndexType::i32;  ///< of column_indices
  bool transposed = false;           ///< every form below is A^T's
  bool row_order = false;
  SlotShape slots = {};   ///< of row slots; no entries: none. Only of structures that row_slots_declined
                          ///< (ops/topology/row_slots.hpp) admits
  int strip_entries = 0;  ///< 0: no strips
  int chunk_items = 0;    ///< 0: no chunks
  int panel_rows = 0;     ///< 0: no panels. Only of structures that panels_declined (ops/topology/panels.hpp) admits
  std::optional<PackedGrain> packed_strips = {};  ///< the structure of packed strips of a grain only: the CSR arrays
                                                  ///< may have been released
  int run_gap_bits = 0;                           ///< as packed_strips, packed runs with gaps of 4 or 8 bits; 0: none
  bool sparse_strips = false;                     ///< as packed_strips, sparse strips
  bool packing = false;      ///< also the part of that structure that only packing reads; it may have been released too
  TileShape tiles = {};      ///< of lists of tiles; no rows: none. Only of masks that tile_lists_declined
                             ///< (ops/topology/tile_lists.hpp) admits
  int key_tile_queries = 0;  ///< of blocks whose keys are in tiles; 0: none. Only of masks that key_tiles_declined
                             ///< (ops/topology/key_tiles.hpp) admits
  int key_tile_parts = 1;    ///< of such a block that may each skip tiles
  bool transposed_key_tiles = false;  ///< also those of the transposed mask, with its rows
  bool key_tile_starts = false;  ///< also where elements of tiles are among the mask's, and transposed in its order

  /// Whether this is the structure of a packed form, which survives the release of the CSR arrays.
  bool packed() const { return packed_strips || run_gap_bits > 0 || sparse_strips; }
};

/// The forms that packed strips of a grain are made from.
constexpr TopologyNeeds strip_needs(PackedGrain grain) { return {.packed_strips = grain}; }

/// The transposed mask, where a kernel walks both.
struct TransposedMask {
  const void* row_offsets = nullptr;
  const void* column_indices = nullptr;
  KeyTiles key_tiles = {};
};

/// Device pointers that kernels read; null if not needed.
struct TopologyPointers {
  const void* row_offsets = nullptr;        ///< rows + 1: int32, or int64 from 2^31 nonzeros on
  const void* column_indices = nullptr;     ///< u16 or i32, as needed
  const std::int32_t* row_order = nullptr;  ///< rows by length, longest first (row swizzle, paper V-C)
  RowSlots slots = {};                      ///< of the shape needed
  const std::int32_t* value_positions =
      nullptr;                    ///< of what is transposed: the place of each nonzero's value in the CSR order of A
  const Strip* strips = nullptr;  ///< every nonzero once, in CSR order
  std::int64_t strip_count = 0;   ///< padding included
  const ChunkStart* chunks = nullptr;  ///< each chunk's start, and the end behind them
  std::int64_t chunk_count = 0;
  const std::int32_t* panel_starts = nullptr;  ///< [panels + 1, rows] (abi/panels.h)
  PackedStructure packed = {};                 ///< sizes of 0 if not needed
  PackedRuns runs = {};                        ///< sizes of 0 if not needed
  SparseStructure sparse = {};                 ///< sizes of 0 if not needed
  TileLists tile_lists = {};                   ///< of the shape needed
  KeyTiles key_tiles = {};                     ///< of blocks of the size needed
  TransposedMask transposed = {};
};

class Family {
 public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  /// Whether its kernels exist for an architecture ("sm_80", "emulator"); if not, it declines, and nothing is compiled.
  virtual bool runs_on(std::string_view) const { return true; }
  /// The config that text spells: a stored one, or one that a user typed. Fields that it lacks have their standard, for
  /// some came later. Nothing where a value is not understood.
  virtual std::optional<Config> read(const FieldMap& fields) const = 0;
  /// Why this family cannot serve the query at all; nothing if it can.
  virtual std::optional<std::string> declines(const Query& query) const = 0;
  /// The default config. Always legal if the family does not decline.
  virtual Config default_config(const Query& query) const = 0;
  /// Every config of the space, legal or not, default first, no repeats.
  virtual std::vector<Config> space(const Query& query) const = 0;
  /// A few configs worth racing first, default first; some may be forbidden.
  virtual std::vector<Config> short_list(const Query& query) const = 0;
  /// Why the rules forbid this config here; nothing if they admit it. Also called for configs from caches.
  virtual std::optional<std::string> forbidden(const Query& query, const Config& config) const = 0;
  /// The topology's forms that an admitted config reads.
  virtual TopologyNeeds needs(const Query& query, const Config& config) const = 0;
  /// The name of the packed format that an admitted config reads, as find_packed_format
  /// (ops/topology/packed_format.hpp) knows it. Empty: CSR values.
  virtual std::string packed_format(const Query& query, const Config& config) const = 0;
  /// Bytes of scratch memory of one execute, for the largest n.
  virtual std::int64_t workspace_bytes(const Query& query, const Config& config) const = 0;
  /// The launches of one execute, in order, for an admitted config. The topology's pointers may be null to get
  /// only kernels and shapes.
  virtual std::vector<Launch> launches(const Query& query, const Config& config,
                                       const TopologyPointers& topology) const = 0;
  /// Cost model: predicted microseconds, for ranking only.
  virtual double predict_us(const Query& query, const Config& config) const = 0;
};

/// What a kernel family is made of: static members over its own Query and Config. What each says is told at Family. It
/// may have `packed_format(query, config)`, and `runs_on(architecture)` together with `why_not_there`, the reason to
/// decline elsewhere.
template <class F>
concept KernelFamily =
    requires(const typename F::Query& query, const typename F::Config& config, const TopologyPointers& topology) {
      { F::name } -> std::convertible_to<std::string_view>;
      { F::declines(query) } -> std::same_as<std::optional<std::string>>;
      { F::default_config(query) } -> std::same_as<typename F::Config>;
      { F::space(query) } -> std::same_as<std::vector<typename F::Config>>;
      { F::short_list(query) } -> std::same_as<std::vector<typename F::Config>>;
      { F::forbidden(query, config) } -> std::same_as<std::optional<std::string>>;
      { F::needs(query, config) } -> std::same_as<TopologyNeeds>;
      { F::workspace_bytes(query, config) } -> std::same_as<std::int64_t>;
      { F::launches(query, config, topology) } -> std::same_as<std::vector<Launch>>;
      { F::predict_us(query, config) } -> std::same_as<double>;
    };

/// Gives queries and configs their own types, once for all families.
template <KernelFamily F>
class FamilyOf final : public Family {
  using Own = typename F::Config;

 public:
  std::string_view name() const override { return F::name; }
  bool runs_on(std::string_view architecture) const override {
    if constexpr (requires { F::runs_on(architecture); }) return F::runs_on(architecture);
    else return true;
  }
  std::optional<Config> read(const FieldMap& fields) const override {
    const auto config = codegen::from_map<Own>(fields);
    return config ? std::optional(Config::of(*config)) : std::nullopt;
  }
  std::optional<std::string> declines(const Query& query) const override {
    if constexpr (requires { F::why_not_there; })
      if (query.device != nullptr && !F::runs_on(query.device->architecture())) return F::why_not_there;
    return F::declines(typed(query));
  }
  Config default_config(const Query& query) const override { return Config::of(F::default_config(typed(query))); }
  std::vector<Config> space(const Query& query) const override { return to_configs(F::space(typed(query))); }
  std::vector<Config> short_list(const Query& query) const override { return to_configs(F::short_list(typed(query))); }
  std::optional<std::string> forbidden(const Query& query, const Config& config) const override {
    return F::forbidden(typed(query), config.as<Own>());
  }
  TopologyNeeds needs(const Query& query, const Config& config) const override {
    return F::needs(typed(query), config.as<Own>());
  }
  std::string packed_format(const Query& query, const Config& config) const override {
    if constexpr (requires { F::packed_format(typed(query), config.as<Own>()); })
      return F::packed_format(typed(query), config.as<Own>());
    else return {};
  }
  std::int64_t workspace_bytes(const Query& query, const Config& config) const override {
    return F::workspace_bytes(typed(query), config.as<Own>());
  }
  std::vector<Launch> launches(const Query& query, const Config& config,
                               const TopologyPointers& topology) const override {
    return F::launches(typed(query), config.as<Own>(), topology);
  }
  double predict_us(const Query& query, const Config& config) const override {
    return F::predict_us(typed(query), config.as<Own>());
  }

 private:
  static const typename F::Query& typed(const Query& query) { return static_cast<const typename F::Query&>(query); }
  static std::vector<Config> to_configs(const std::vector<Own>& own) {
    std::vector<Config> configs;
    configs.reserve(own.size());
    for (const Own& config : own) configs.push_back(Config::of(config));
    return configs;
  }
};

template <KernelFamily F>
std::unique_ptr<Family> family_of() {
  return std::make_unique<FamilyOf<F>>();
}

/// Every family of an operation ("spmm"), in a fixed order; none for an unknown operation.
const std::vector<std::unique_ptr<Family>>& families(std::string_view operation);
/// Every operation that has families, in a fixed order.
std::vector<std::string_view> operations();
/// The family of this name; nullptr if unknown (a cache row of a newer version).
const Family* find_family(std::string_view operation, std::string_view name);

}  // namespace vostok::ops
