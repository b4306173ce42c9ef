// A peer's shared library, opened when the program runs: building needs nothing of CUDA.
#pragma once

#include <string>
#include <vector>

#include "base/text.hpp"
#include "device/cuda/shared_object.hpp"

namespace vostok::bench {

/// One function of a peer: its exported name and, once loaded, its address.
template <class Value, class... Parameters>
struct PeerFunction {
  using Signature = Value(Parameters...);
  const char* name;
  Signature* address = nullptr;
  Value operator()(Parameters... parameters) const { return address(parameters...); }
};

/// Opens the first of `names` (file names with version, e.g. "libcusparse.so.12") that the loader or a CUDA toolkit
/// has. `companion` (a pattern, e.g. "libcublasLt.so.*") is opened before a library that is found in a folder, from
/// there. Errors: no_device naming every place and what the loader said.
device::cuda::SharedObject open_peer_library(const std::vector<std::string>& names, const std::string& companion);

/// Sets the function's address. Errors: no_device naming library and function.
template <class Function>
void load(const device::cuda::SharedObject& library, Function& function) {
  if (!library.find(function))
    fail(ErrorCode::no_device, "cannot use {}: it has no function {}", library.path(), function.name);
}

}  // namespace vostok::bench
