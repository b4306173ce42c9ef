// What is used of cuBLAS (12 and later), declared here. A test compares it with cublas_api.h where that is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/peers/library.hpp"

struct CUstream_st;

namespace vostok::bench::cublas {

using Handle = void*;
using StreamHandle = CUstream_st*;

enum class Status : int { success = 0 };
enum class Operation : int { none = 0, transpose = 1 };
enum class DataType : int { f32 = 0, f16 = 2, bf16 = 14 };
/// What sums are computed in; the names with 32 are fp32 accumulators.
enum class ComputeType : int { f32 = 68, f32_pedantic = 69, f32_fast_tf32 = 77 };
enum class Algorithm : int { automatic = -1 };

#define VOSTOK_CUBLAS_FUNCTIONS(FUNCTION)                                                                             \
  FUNCTION(cublasCreate_v2, Status, Handle*)                                                                          \
  FUNCTION(cublasDestroy_v2, Status, Handle)                                                                          \
  FUNCTION(cublasGetVersion_v2, Status, Handle, int*)                                                                 \
  FUNCTION(cublasGetStatusString, const char*, Status)                                                                \
  FUNCTION(cublasSetStream_v2, Status, Handle, StreamHandle)                                                          \
  FUNCTION(cublasSetWorkspace_v2, Status, Handle, void*, std::size_t)                                                 \
  FUNCTION(cublasGemmEx_64, Status, Handle, Operation, Operation, std::int64_t, std::int64_t, std::int64_t,           \
           const void*, const void*, DataType, std::int64_t, const void*, DataType, std::int64_t, const void*, void*, \
           DataType, std::int64_t, ComputeType, Algorithm)

/// The table of functions; members carry the exported names.
struct Api {
#define VOSTOK_DECLARE(symbol, ...) PeerFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

/// Errors: no_device naming what was tried or is missing.
Api load_api();

}  // namespace vostok::bench::cublas
