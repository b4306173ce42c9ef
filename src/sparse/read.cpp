#include "sparse/read.hpp"

#include "base/text.hpp"

namespace vostok::sparse {

Csr read(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".smtx") return read_smtx(path);
  if (extension == ".mtx") return read_mtx(path);
  if (extension == ".npy") return read_npy(path);
  fail(ErrorCode::invalid_argument, "cannot read {}: the extension is '{}', not .smtx, .mtx or .npy", path.string(), extension);
}

}  // namespace vostok::sparse
