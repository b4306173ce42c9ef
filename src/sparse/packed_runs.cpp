#include "sparse/packed_runs.hpp"

#include <cstring>

#include "sparse/elements.hpp"

namespace vostok::sparse {

namespace {

/// Adds slots to the end of a form, row by row.
class RunWriter {
 public:
  explicit RunWriter(RunForm& form) : form_(form) {}

  void begin_row() { slot_ = run_slots(); }
  /// A slot of a nonzero, or of an escape before it, whose code counts from column `from`.
  void add(std::int64_t nonzero, std::int64_t from, int code) {
    if (slot_ == run_slots()) begin_run();
    const std::int64_t run = runs_ - 1;
    if (slot_ == 0) {
      form_.starts[static_cast<std::size_t>(run)] = static_cast<std::uint16_t>(from);
      form_.firsts[static_cast<std::size_t>(run)] = static_cast<std::int32_t>(nonzero);
    }
    const RunCodePlace place = run_code_place(run, slot_, form_.gap_bits);
    form_.codes[static_cast<std::size_t>(place.word)] |= static_cast<std::uint32_t>(code) << place.shift;
    form_.counts[static_cast<std::size_t>(run)] = static_cast<std::uint8_t>(++slot_);
  }
  void end_row() { form_.row_runs.push_back(static_cast<std::uint32_t>(runs_)); }
  bool starts_run() const { return slot_ == run_slots(); }

 private:
  void begin_run() {
    if (runs_ % group_runs() == 0) add_group();
    ++runs_;
    slot_ = 0;
  }
  void add_group() {
    const auto room = static_cast<std::size_t>(runs_ + group_runs());
    form_.starts.resize(room, 0);
    form_.counts.resize(room, 0);
    form_.codes.resize(room * static_cast<std::size_t>(code_pieces(form_.gap_bits) * run_piece_bytes() / 4), 0);
    form_.firsts.resize(room, 0);
  }

  RunForm& form_;
  std::int64_t runs_ = 0;
  int slot_ = run_slots();
};

int code_at(const RunForm& form, std::int64_t run, int slot) {
  const RunCodePlace place = run_code_place(run, slot, form.gap_bits);
  return static_cast<int>(form.codes[static_cast<std::size_t>(place.word)] >> place.shift) & run_escape(form.gap_bits);
}

/// The first byte of a slot's value.
std::size_t value_at(std::int64_t run, int slot, int element_bytes) {
  const int of_piece = run_piece_bytes() / element_bytes;
  return static_cast<std::size_t>((run_piece_place(run, slot / of_piece, element_bytes) + slot % of_piece) *
                                  element_bytes);
}

}  // namespace

RunForm packed_runs(const Csr& walked, int gap_bits, std::span<const std::int32_t> value_positions) {
  const int escape = run_escape(gap_bits);
  RunForm form{.gap_bits = gap_bits, .positions = {value_positions.begin(), value_positions.end()}};
  RunWriter writer(form);
  for (std::int64_t row = 0; row < walked.rows; ++row) {
    writer.begin_row();
    const std::int64_t begin = walked.row_offsets[static_cast<std::size_t>(row)],
                       end = walked.row_offsets[static_cast<std::size_t>(row) + 1];
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t column = walked.column_indices[at];
      std::int64_t from = i == begin ? column : walked.column_indices[at - 1];
      for (; column - from >= escape; from += escape) writer.add(i, from, escape);
      if (writer.starts_run()) from = column;
      writer.add(i, from, static_cast<int>(column - from));
    }
    writer.end_row();
  }
  return form;
}

std::vector<std::byte> pack(const RunForm& form, Dtype element, std::span<const std::byte> values) {
  const auto bytes = static_cast<std::size_t>(size_of(element));
  std::vector<std::byte> packed(form.firsts.size() * run_slots() * bytes, std::byte{0});
  for (std::int64_t run = 0; run < form.runs(); ++run) {
    auto nonzero = static_cast<std::size_t>(form.firsts[static_cast<std::size_t>(run)]);
    for (int slot = 0; slot < form.counts[static_cast<std::size_t>(run)]; ++slot) {
      if (code_at(form, run, slot) == run_escape(form.gap_bits)) continue;
      const std::size_t source = form.positions.empty() ? nonzero : static_cast<std::size_t>(form.positions[nonzero]);
      std::memcpy(packed.data() + value_at(run, slot, size_of(element)), values.data() + source * bytes, bytes);
      ++nonzero;
    }
  }
  return packed;
}

std::vector<double> unpack(const RunForm& form, std::int64_t cols, Dtype element, std::span<const std::byte> packed) {
  const auto rows = static_cast<std::int64_t>(form.row_runs.size()) - 1;
  std::vector<double> dense(static_cast<std::size_t>(rows * cols), 0);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t run = form.row_runs[static_cast<std::size_t>(row)];
         run < form.row_runs[static_cast<std::size_t>(row) + 1]; ++run) {
      std::int64_t column = form.starts[static_cast<std::size_t>(run)];
      for (int slot = 0; slot < form.counts[static_cast<std::size_t>(run)]; ++slot) {
        const int code = code_at(form, run, slot);
        column += code;
        const auto value =
            packed.subspan(value_at(run, slot, size_of(element)), static_cast<std::size_t>(size_of(element)));
        if (code != run_escape(form.gap_bits))
          dense[static_cast<std::size_t>(row * cols + column)] +=
              static_cast<double>(from_storage(element, value).front());
      }
    }
  return dense;
}

}  // namespace vostok::sparse
