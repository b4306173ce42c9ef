// CSR to files.
#pragma once

#include <filesystem>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// The DLMC format; values are not written. Errors: io_failure.
void write_smtx(const std::filesystem::path& path, const Csr& csr);

}  // namespace vostok::sparse
