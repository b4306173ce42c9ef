// The peers' functions and values are declared by hand; here they meet the toolkit's own headers.
#include <doctest/doctest.h>

#ifdef VOSTOK_HAVE_PEER_HEADERS

#include <cublas_api.h>
#include <cusparse.h>

#include <type_traits>

#include "bench/peers/cublas_api.hpp"
#include "bench/peers/cusparse_api.hpp"

namespace vostok::bench {
namespace {

/// Passed alike: both pointers, or both floating, or both integers or enumerations, and of one size.
template <class A, class B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                              std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class A, class B>
constexpr bool same_shape = false;
template <class VA, class... A, class VB, class... B>
  requires(sizeof...(A) == sizeof...(B))
constexpr bool same_shape<VA(A...), VB(B...)> = passed_alike<VA, VB> && (passed_alike<A, B> && ...);

static_assert(same_shape<int(void*, float), int(char*, float)>);
static_assert(!same_shape<int(void*, float), int(void*, double)>, "a size is seen");
static_assert(!same_shape<int(void*), int(long long)>, "a pointer is told from a number");
static_assert(!same_shape<int(void*), int(void*, int)>, "a missing parameter is seen");

#define VOSTOK_COMPARE(symbol, ...)                                                           \
  static_assert(same_shape<PeerFunction<__VA_ARGS__>::Signature, decltype(::symbol)>, #symbol \
                " is declared "                                                               \
                "otherwise");
}  // namespace
namespace cusparse {
VOSTOK_CUSPARSE_FUNCTIONS(VOSTOK_COMPARE)
}
namespace cublas {
VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_COMPARE)
}
namespace {
#undef VOSTOK_COMPARE

template <class Ours, class Theirs>
constexpr bool same_value(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

TEST_CASE("the declarations of the peers agree with the toolkit's headers") {
  // The functions were compared while this was compiled.
  CHECK(same_value(cusparse::Status::success, CUSPARSE_STATUS_SUCCESS));
  CHECK(same_value(cusparse::Status::not_supported, CUSPARSE_STATUS_NOT_SUPPORTED));
  CHECK(same_value(cusparse::Operation::non_transpose, CUSPARSE_OPERATION_NON_TRANSPOSE));
  CHECK(same_value(cusparse::Operation::transpose, CUSPARSE_OPERATION_TRANSPOSE));
  CHECK(same_value(cusparse::IndexWidth::i32, CUSPARSE_INDEX_32I));
  CHECK(same_value(cusparse::IndexBase::zero, CUSPARSE_INDEX_BASE_ZERO));
  CHECK(same_value(cusparse::Order::row, CUSPARSE_ORDER_ROW));
  CHECK(same_value(cusparse::DataType::f32, CUDA_R_32F));
  CHECK(same_value(cusparse::DataType::f16, CUDA_R_16F));
  CHECK(same_value(cusparse::DataType::bf16, CUDA_R_16BF));
  CHECK(same_value(cusparse::SddmmAlgorithm::automatic, CUSPARSE_SDDMM_ALG_DEFAULT));
  CHECK(same_value(cusparse::SpmmAlgorithm::csr_alg1, CUSPARSE_SPMM_CSR_ALG1));
  CHECK(same_value(cusparse::SpmmAlgorithm::csr_alg2, CUSPARSE_SPMM_CSR_ALG2));
  CHECK(same_value(cusparse::SpmmAlgorithm::csr_alg3, CUSPARSE_SPMM_CSR_ALG3));
  CHECK(same_value(cublas::Status::success, CUBLAS_STATUS_SUCCESS));
  CHECK(same_value(cublas::Operation::none, CUBLAS_OP_N));
  CHECK(same_value(cublas::Operation::transpose, CUBLAS_OP_T));
  CHECK(same_value(cublas::DataType::f32, CUDA_R_32F));
  CHECK(same_value(cublas::DataType::f16, CUDA_R_16F));
  CHECK(same_value(cublas::DataType::bf16, CUDA_R_16BF));
  CHECK(same_value(cublas::ComputeType::f32, CUBLAS_COMPUTE_32F));
  CHECK(same_value(cublas::ComputeType::f32_pedantic, CUBLAS_COMPUTE_32F_PEDANTIC));
  CHECK(same_value(cublas::ComputeType::f32_fast_tf32, CUBLAS_COMPUTE_32F_FAST_TF32));
  CHECK(same_value(cublas::Algorithm::automatic, CUBLAS_GEMM_DEFAULT));
}

}  // namespace
}  // namespace vostok::bench

#else

TEST_CASE("the declarations of the peers agree with the toolkit's headers") {
  MESSAGE("skipped: cusparse.h and cublas_api.h were not found when this was built");
}

#endif
