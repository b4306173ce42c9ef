// What is used of cuSPARSE's generic API (12.0 and later), declared here. A test compares it with cusparse.h where that
// is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/peers/library.hpp"

struct CUstream_st;

namespace vostok::bench::cusparse {

using Handle = void*;
using SparseMatrix = void*;
using DenseMatrix = void*;
using StreamHandle = CUstream_st*;

enum class Status : int { success = 0, not_supported = 10 };
enum class Operation : int { non_transpose = 0, transpose = 1 };
enum class IndexWidth : int { i32 = 2 };
enum class IndexBase : int { zero = 0 };
enum class Order : int { row = 2 };
enum class DataType : int { f32 = 0, f16 = 2, bf16 = 14 };
enum class SpmmAlgorithm : int { csr_alg1 = 4, csr_alg2 = 6, csr_alg3 = 12 };
enum class SddmmAlgorithm : int { automatic = 0 };

#define VOSTOK_CUSPARSE_FUNCTIONS(FUNCTION)                                                                         \
  FUNCTION(cusparseCreate, Status, Handle*)                                                                         \
  FUNCTION(cusparseDestroy, Status, Handle)                                                                         \
  FUNCTION(cusparseGetVersion, Status, Handle, int*)                                                                \
  FUNCTION(cusparseGetErrorString, const char*, Status)                                                             \
  FUNCTION(cusparseSetStream, Status, Handle, StreamHandle)                                                         \
  FUNCTION(cusparseCreateCsr, Status, SparseMatrix*, std::int64_t, std::int64_t, std::int64_t, void*, void*, void*, \
           IndexWidth, IndexWidth, IndexBase, DataType)                                                             \
  FUNCTION(cusparseDestroySpMat, Status, const void*)                                                               \
  FUNCTION(cusparseCreateDnMat, Status, DenseMatrix*, std::int64_t, std::int64_t, std::int64_t, void*, DataType,    \
           Order)                                                                                                   \
  FUNCTION(cusparseDestroyDnMat, Status, const void*)                                                               \
  FUNCTION(cusparseSpMM_bufferSize, Status, Handle, Operation, Operation, const void*, const void*, const void*,    \
           const void*, DenseMatrix, DataType, SpmmAlgorithm, std::size_t*)                                         \
  FUNCTION(cusparseSpMM_preprocess, Status, Handle, Operation, Operation, const void*, const void*, const void*,    \
           const void*, DenseMatrix, DataType, SpmmAlgorithm, void*)                                                \
  FUNCTION(cusparseSpMM, Status, Handle, Operation, Operation, const void*, const void*, const void*, const void*,  \
           DenseMatrix, DataType, SpmmAlgorithm, void*)                                                             \
  FUNCTION(cusparseSDDMM_bufferSize, Status, Handle, Operation, Operation, const void*, const void*, const void*,   \
           const void*, SparseMatrix, DataType, SddmmAlgorithm, std::size_t*)                                       \
  FUNCTION(cusparseSDDMM_preprocess, Status, Handle, Operation, Operation, const void*, const void*, const void*,   \
           const void*, SparseMatrix, DataType, SddmmAlgorithm, void*)                                              \
  FUNCTION(cusparseSDDMM, Status, Handle, Operation, Operation, const void*, const void*, const void*, const void*, \
           SparseMatrix, DataType, SddmmAlgorithm, void*)

/// The table of functions; members carry the exported names.
struct Api {
#define VOSTOK_DECLARE(symbol, ...) PeerFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_CUSPARSE_FUNCTIONS(VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

/// Errors: no_device naming what was tried or is missing.
Api load_api();

}  // namespace vostok::bench::cusparse
