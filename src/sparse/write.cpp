#include "sparse/write.hpp"

#include "base/text.hpp"
#include "sparse/text_file.hpp"

namespace vostok::sparse {
namespace {

template <class Integer>
std::string line_of(const std::vector<Integer>& numbers) {
  std::string line;
  for (const Integer number : numbers) {
    if (!line.empty()) line += ' ';
    line += std::to_string(number);
  }
  return line + '\n';
}

}  // namespace

void write_smtx(const std::filesystem::path& path, const Csr& csr) {
  write_bytes(path, fmt::format("{}, {}, {}\n", csr.rows, csr.cols, csr.nonzeros()) + line_of(csr.row_offsets) +
                        line_of(csr.column_indices));
}

}  // namespace vostok::sparse
