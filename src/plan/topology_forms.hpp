// One structure in device memory and the forms that are derived from it on demand. A topology has two: its own and its
// transpose's.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "ops/topology/csr.hpp"
#include "ops/topology/key_tiles.hpp"
#include "plan/session.hpp"

namespace vostok::plan {

/// Statistics of a structure that was measured and found valid.
TopologyStatistics statistics_of(const CsrMeasures& measures, std::int64_t rows, std::int64_t cols,
                                 std::int64_t nonzeros);

/// A copy in device memory, complete on return.
template <class T>
ops::QueuedMemory upload(const ops::Queue& queue, const std::vector<T>& values) {
  ops::QueuedMemory memory(queue, static_cast<std::int64_t>(values.size() * sizeof(T)));
  if (!values.empty()) queue.device().copy_to_device(memory.data(), values.data(), memory.bytes());
  return memory;
}

/// Not thread-safe: TopologyState locks it.
struct TopologyForms {
  TopologyStatistics statistics;
  bool wide_offsets = false;  ///< int64, from 2^31 nonzeros on
  std::vector<std::int64_t>
      host_offsets;  ///< if the structure came from the host: forms that need no columns are made from these
  ops::QueuedMemory row_offsets;
  ops::QueuedMemory column_indices;  ///< of the narrowest type
  ops::QueuedMemory wide_columns;    ///< int32, if column_indices are narrower and these were needed
  ops::QueuedMemory row_order;
  ops::QueuedMemory value_positions;  ///< of a transpose

  struct SlotTable {
    ops::QueuedMemory records;
    ops::QueuedMemory columns;
    std::int64_t count = 0;
  };
  std::map<std::tuple<int, int, IndexType>, SlotTable> slot_tables;  ///< by entries, most pieces and the columns' type

  struct StripTable {
    ops::QueuedMemory strips;
    std::int64_t count = 0;
  };
  std::map<int, StripTable> strip_tables;  ///< by entries

  struct ChunkTable {
    ops::QueuedMemory chunks;
    std::int64_t count = 0;
  };
  std::map<int, ChunkTable> chunk_tables;  ///< by items

  std::map<int, ops::QueuedMemory> panel_tables;  ///< starts by the panels' rows

  struct TileTable {
    ops::QueuedMemory tiles;
    ops::QueuedMemory row_shifts;
    ops::QueuedMemory places;
    std::int64_t count = 0;
  };
  std::map<std::pair<int, int>, TileTable> tile_tables;  ///< by rows and columns

  struct KeyTable {
    ops::QueuedMemory first_tiles;
    ops::QueuedMemory order = {};
    ops::QueuedMemory keys = {};
    ops::QueuedMemory bits = {};
    ops::QueuedMemory taken = {};   ///< where blocks have several parts
    ops::QueuedMemory starts = {};  ///< where a plan needs them
    int block_count = 0;
    int tile_count = 0;

    ops::KeyTileParts parts() const;
    KeyTiles tiles() const;
  };
  std::map<ops::QueryBlocks, KeyTable> key_tables;

  // Some parts of packed forms are read only by packing; structures point to them until release_packing.

  struct PackedParts {
    ops::QueuedMemory offsets;         ///< read by products: unit_offsets and left_starts
    ops::QueuedMemory tables;          ///< every other table, read only by packing, except
    ops::QueuedMemory left_over = {};  ///< the left-over entries
    PackedStructure structure = {};
  };
  std::map<PackedGrain, PackedParts> packed;

  struct RunTable {
    ops::QueuedMemory row_runs;
    ops::QueuedMemory starts = {};
    ops::QueuedMemory counts = {};
    ops::QueuedMemory codes = {};
    ops::QueuedMemory firsts = {};     ///< read only by packing,
    ops::QueuedMemory positions = {};  ///< like these; a copy, since it must outlive the source
    PackedRuns structure = {};
  };
  std::map<int, RunTable> run_tables;  ///< by the bits of gaps

  struct SparseParts {
    ops::QueuedMemory groups;
    ops::QueuedMemory headers = {};
    ops::QueuedMemory nonzero_offsets = {};
    ops::QueuedMemory unit_offsets = {};  ///< the only part that products read
    ops::QueuedMemory sources = {};
    SparseStructure structure = {};
    bool made = false;
  };
  SparseParts sparse;

  /// Whether any packed form that `needs` names exists; has_any_packed: whether any exists at all.
  bool has_packed(const ops::TopologyNeeds& needs) const {
    return (needs.packed_strips && packed.contains(*needs.packed_strips)) ||
           (needs.run_gap_bits > 0 && run_tables.contains(needs.run_gap_bits)) || (needs.sparse_strips && sparse.made);
  }
  bool has_any_packed() const { return !packed.empty() || !run_tables.empty() || sparse.made; }

  IndexType stored_index() const { return ops::narrowest_index(statistics.cols); }
  ops::CsrArrays arrays() const;
  /// The column indices in a type that an earlier derive() requested.
  const void* columns(IndexType index) const;

  /// Queues whatever of `needs` is missing. Sets `queued` as soon as something is queued, even if a later form fails.
  /// Waits for packed forms and tiles of keys, whose size is computed on the device. Errors: unsupported (a form with
  /// 32-bit numbers of more than 2^31 - 1 nonzeros, 16-bit indices of more than 65536 columns, packed and sparse strips
  /// and tiles of keys if a row names a column twice, tiles, panels and packed runs of rows that are not sorted).
  void derive(const ops::Queue& queue, const ops::TopologyNeeds& needs, bool& queued);
  ops::TopologyPointers pointers(const ops::TopologyNeeds& needs) const;

  std::int64_t bytes() const;
  /// Releases all memory after the work that `used` recorded.
  void release(Session& session, const StreamSet& used) noexcept;
  /// Releases everything except packed forms.
  void release_source(Session& session, const StreamSet& used) noexcept;
  /// Releases the parts of packed forms that only packing reads.
  void release_packing(Session& session, const StreamSet& used) noexcept;

 private:
  template <class Self, class Visit>
  static void visit_source(Self& self, Visit&& visit);
  template <class Self, class Visit>
  static void visit_packing(Self& self, Visit&& visit);
  template <class Self, class Visit>
  static void visit_memory(Self& self, Visit&& visit);
  void derive_columns(const ops::Queue& queue, IndexType index, bool& queued);
  void derive_row_order(const ops::Queue& queue, bool& queued);
  void derive_slots(const ops::Queue& queue, const SlotShape& shape, IndexType index, bool& queued);
  void derive_strips(const ops::Queue& queue, int entries, bool& queued);
  void derive_chunks(const ops::Queue& queue, int items, bool& queued);
  void derive_panels(const ops::Queue& queue, int panel_rows, bool& queued);
  void derive_tiles(const ops::Queue& queue, const TileShape& shape, bool& queued);
  void derive_key_tiles(const ops::Queue& queue, ops::QueryBlocks blocks, bool& queued);
  void derive_key_starts(const ops::Queue& queue, ops::QueryBlocks blocks, bool& queued);
  void derive_packed_strips(const ops::Queue& queue, PackedGrain grain, bool& queued);
  void derive_runs(const ops::Queue& queue, int gap_bits, bool& queued);
  void derive_sparse_strips(const ops::Queue& queue, bool& queued);
};

}  // namespace vostok::plan
