// What is used of cuBLAS (11 and later), declared here. A test compares it with cublas_api.h where that is found.
#pragma once

#include <cstddef>

#include "bench/peers/library.hpp"

struct CUstream_st;

namespace vostok::bench::cublas {

using Handle = void*;
using StreamHandle = CUstream_st*;

enum class Status : int { success = 0 };
enum class Operation : int { none = 0 };
enum class MathMode : int { pedantic = 2 };

#define VOSTOK_CUBLAS_FUNCTIONS(FUNCTION)                                                                                                         \
  FUNCTION(cublasCreate_v2, Status, Handle*)                                                                                                      \
  FUNCTION(cublasDestroy_v2, Status, Handle)                                                                                                      \
  FUNCTION(cublasGetVersion_v2, Status, Handle, int*)                                                                                             \
  FUNCTION(cublasGetStatusString, const char*, Status)                                                                                            \
  FUNCTION(cublasSetStream_v2, Status, Handle, StreamHandle)                                                                                      \
  FUNCTION(cublasSetWorkspace_v2, Status, Handle, void*, std::size_t)                                                                             \
  FUNCTION(cublasSetMathMode, Status, Handle, MathMode)                                                                                           \
  FUNCTION(cublasSgemm_v2, Status, Handle, Operation, Operation, int, int, int, const float*, const float*, int, const float*, int, const float*, \
           float*, int)

/// The table of functions; members carry the exported names.
struct Api {
#define VOSTOK_DECLARE(symbol, ...) PeerFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

/// Errors: no_device naming what was tried or is missing.
Api load_api();

}  // namespace vostok::bench::cublas
