// The device memory that a topology's forms hold, its size, and which of it each release frees.
#include "plan/topology_forms.hpp"

namespace vostok::plan {

template <class Self, class Visit>
void TopologyForms::visit_source(Self& self, Visit&& visit) {
  for (auto* memory :
       {&self.row_offsets, &self.column_indices, &self.wide_columns, &self.row_order, &self.value_positions})
    visit(*memory);
  for (auto& [key, table] : self.slot_tables)
    for (auto* memory : {&table.records, &table.columns}) visit(*memory);
  for (auto& [entries, table] : self.strip_tables) visit(table.strips);
  for (auto& [items, table] : self.chunk_tables) visit(table.chunks);
  for (auto& [rows, starts] : self.panel_tables) visit(starts);
  for (auto& [shape, table] : self.tile_tables)
    for (auto* memory : {&table.tiles, &table.row_shifts, &table.places}) visit(*memory);
  for (auto& [blocks, table] : self.key_tables)
    for (auto* memory : {&table.first_tiles, &table.order, &table.keys, &table.bits, &table.taken, &table.starts})
      visit(*memory);
}

template <class Self, class Visit>
void TopologyForms::visit_packing(Self& self, Visit&& visit) {
  for (auto& [grain, parts] : self.packed)
    for (auto* memory : {&parts.tables, &parts.left_over}) visit(*memory);
  for (auto& [bits, table] : self.run_tables)
    for (auto* memory : {&table.firsts, &table.positions}) visit(*memory);
  auto& sparse = self.sparse;
  for (auto* memory : {&sparse.groups, &sparse.headers, &sparse.nonzero_offsets, &sparse.sources}) visit(*memory);
}

template <class Self, class Visit>
void TopologyForms::visit_memory(Self& self, Visit&& visit) {
  visit_source(self, visit);
  visit_packing(self, visit);
  for (auto& [grain, parts] : self.packed) visit(parts.offsets);
  for (auto& [bits, table] : self.run_tables)
    for (auto* memory : {&table.row_runs, &table.starts, &table.counts, &table.codes}) visit(*memory);
  visit(self.sparse.unit_offsets);
}

std::int64_t TopologyForms::bytes() const {
  std::int64_t sum = 0;
  visit_memory(*this, [&](const ops::QueuedMemory& memory) { sum += memory.bytes(); });
  return sum;
}

void TopologyForms::release(Session& session, const StreamSet& used) noexcept {
  visit_memory(*this, [&](ops::QueuedMemory& memory) { session.release(memory.give_away(), used); });
}

void TopologyForms::release_source(Session& session, const StreamSet& used) noexcept {
  visit_source(*this, [&](ops::QueuedMemory& memory) { session.release(memory.give_away(), used); });
  slot_tables.clear();
  strip_tables.clear();
  tile_tables.clear();
  key_tables.clear();
  host_offsets = {};
}

void TopologyForms::release_packing(Session& session, const StreamSet& used) noexcept {
  visit_packing(*this, [&](ops::QueuedMemory& memory) { session.release(memory.give_away(), used); });
  for (auto& [grain, parts] : packed) {
    PackedStructure& all = parts.structure;
    all.headers = all.slot_offsets = all.left_places = nullptr;
    all.row_starts = all.value_places = all.left_sources = nullptr;
    all.slots = nullptr;
  }
  for (auto& [bits, table] : run_tables) table.structure.firsts = table.structure.positions = nullptr;
  SparseStructure& all = sparse.structure;
  all.groups = all.headers = all.nonzero_offsets = nullptr;
  all.sources = nullptr;
}

}  // namespace vostok::plan
