// A structure in few bytes, as files of packed values carry it: what they need to be used where nobody has its CSR
// arrays.
//
// - "bitmap": ceil(cols / 8) bytes a row. Bit c % 8 of byte c / 8, counted from the lowest, says whether the row has
// column c. Bits past the last
//   column are 0. Only of rows whose columns ascend, none twice.
// - "gaps": for each row its number of nonzeros, then for each of them how many columns lie between it and the one
// before; for the first, its
//   column. Only of such rows.
// - "steps": the same for any order of columns: how far each is from the one before, or from column 0. A step d is
// written as 2 d, or as -2 d - 1
//   where it is negative.
//
// Numbers are written 7 bits a byte, the lowest first. A byte of 128 and more says that another follows; there are five
// at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sparse/csr.hpp"

namespace vostok::sparse {

struct CodedStructure {
  std::string coding = {};  ///< "bitmap", "gaps" or "steps"
  std::vector<std::byte> bytes = {};
};

/// In the coding that takes the fewest bytes; of two, the one that comes first above. The structure is valid.
CodedStructure code_structure(const Csr& csr);

/// Whether a coding has this name.
bool knows_coding(std::string_view coding);

/// What `bytes` of any origin say about a matrix of these sizes; nothing where they are no coding of one. Takes memory
/// in proportion to the bytes, whatever the sizes claim.
std::optional<Csr> decode_structure(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                                    std::string_view coding, std::span<const std::byte> bytes);

}  // namespace vostok::sparse
