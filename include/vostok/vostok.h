/* Vostok's C interface: sparse kernels for deep learning, planned, generated, tuned and run on NVIDIA GPUs.
 *
 * C99. Every function that can fail returns a status: 0 is good, else 1 + the C++ library's ErrorCode; vostok_last_error() has the sentence.
 * Nothing throws across this interface. What each problem and argument means is documented with its C++ namesake in <vostok/vostok.hpp>.
 *
 * Structures begin with their own `size`, which the init functions set along with the defaults, so that a program works with older and newer
 * libraries: fields are only ever added at the end. A field that the library does not know must be zero (else VOSTOK_UNSUPPORTED).
 *
 *     vostok_spmm problem;
 *     vostok_spmm_init(&problem, sizeof problem);
 *     problem.n = 64;
 *
 * Handles are retained by each of their owners and shared between threads. Releasing NULL does nothing. Strings that functions return are
 * borrowed: they live until the calling thread's next call that returns a string. Output handles are NULL where a call fails.
 *
 * Streams are CUstream (cudaStream_t is the same type). For execute NULL is the legacy default stream; for calls that make something of
 * arrays in device memory NULL means that these arrays are complete. Pass VOSTOK_STREAM_LEGACY to order a call behind the legacy stream.
 */
#ifndef VOSTOK_VOSTOK_H
#define VOSTOK_VOSTOK_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define VOSTOK_API
#else
#define VOSTOK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes where something of this header changes its meaning. Additions leave it as it is. */
#define VOSTOK_ABI_VERSION 0

#define VOSTOK_STREAM_LEGACY ((void*)0x1)
#define VOSTOK_STREAM_PER_THREAD ((void*)0x2)

/* --- Constants: those of <vostok/enums.hpp>, which the library checks name by name ---------------------------------------------------- */

typedef int32_t vostok_status;
enum {
  VOSTOK_OK = 0,
  VOSTOK_INVALID_ARGUMENT = 1,
  VOSTOK_INVALID_TOPOLOGY = 2,
  VOSTOK_UNSUPPORTED = 3,
  VOSTOK_MISALIGNED_POINTER = 4,
  VOSTOK_WRONG_DEVICE = 5,
  VOSTOK_FORMAT_MISMATCH = 6,
  VOSTOK_CAPTURE_ACTIVE = 7,
  VOSTOK_NO_DEVICE = 8,
  VOSTOK_NO_COMPILER = 9,
  VOSTOK_MISSING_KERNEL = 10,
  VOSTOK_MISSING_CHOICE = 11,
  VOSTOK_COMPILE_FAILED = 12,
  VOSTOK_OUT_OF_MEMORY = 13,
  VOSTOK_DEVICE_FAILURE = 14,
  VOSTOK_IO_FAILURE = 15,
  VOSTOK_INTERNAL = 16,
  VOSTOK_AFTER_FORK = 17
};

enum { VOSTOK_DTYPE_DEFAULT = -1, VOSTOK_DTYPE_F32 = 0, VOSTOK_DTYPE_F16 = 1, VOSTOK_DTYPE_BF16 = 2 }; /* DEFAULT: the element type */
enum { VOSTOK_INDEX_TYPE_AUTOMATIC = 0, VOSTOK_INDEX_TYPE_U16 = 1, VOSTOK_INDEX_TYPE_I32 = 2 };
enum { VOSTOK_LAYOUT_ROW_MAJOR = 0, VOSTOK_LAYOUT_COLUMN_MAJOR = 1 };
enum { VOSTOK_BIAS_NONE = 0, VOSTOK_BIAS_PER_ROW = 1, VOSTOK_BIAS_PER_COLUMN = 2 };
enum {
  VOSTOK_ACTIVATION_NONE = 0,
  VOSTOK_ACTIVATION_RELU = 1,
  VOSTOK_ACTIVATION_GELU = 2,
  VOSTOK_ACTIVATION_GELU_TANH = 3,
  VOSTOK_ACTIVATION_SILU = 4
};
enum { VOSTOK_SCALE_ONE = 0, VOSTOK_SCALE_HOST = 1, VOSTOK_SCALE_DEVICE = 2 };
enum { VOSTOK_MATH_STRICT = 0, VOSTOK_MATH_ACCURATE = 1, VOSTOK_MATH_TF32 = 2 };
enum { VOSTOK_NON_FINITE_DENSE = 0, VOSTOK_NON_FINITE_SPARSE = 1 };
enum { VOSTOK_VALUE_LIFETIME_PER_CALL = 0, VOSTOK_VALUE_LIFETIME_PERSISTENT = 1 };
enum { VOSTOK_ROW_STATISTICS_NONE = 0, VOSTOK_ROW_STATISTICS_WRITE = 1, VOSTOK_ROW_STATISTICS_READ = 2 };
enum { VOSTOK_SAVED_NONE = 0, VOSTOK_SAVED_PROBABILITIES = 1, VOSTOK_SAVED_ROW_STATISTICS = 2 };
enum { VOSTOK_EFFORT_HEURISTIC = 0, VOSTOK_EFFORT_CACHED = 1, VOSTOK_EFFORT_QUICK = 2, VOSTOK_EFFORT_FULL = 3 };
enum { VOSTOK_POLICY_WARM = 0, VOSTOK_POLICY_COLD = 1 };
enum {
  VOSTOK_PROVENANCE_TUNED_HERE = 0,
  VOSTOK_PROVENANCE_TUNED_ELSEWHERE = 1,
  VOSTOK_PROVENANCE_SHIPPED = 2,
  VOSTOK_PROVENANCE_NEAREST_PROBLEM = 3,
  VOSTOK_PROVENANCE_NEAREST_DEVICE = 4,
  VOSTOK_PROVENANCE_HEURISTIC = 5
};
enum { VOSTOK_DETAIL_CHOICE = 0, VOSTOK_DETAIL_TRIALS = 1 };
enum { VOSTOK_LOG_LEVEL_INFO = 0, VOSTOK_LOG_LEVEL_WARNING = 1 };
enum { VOSTOK_FIRST_RUN_WORKER = 0, VOSTOK_FIRST_RUN_THIS_PROCESS = 1 };
enum { VOSTOK_COMPILE_POLICY_ALLOW = 0, VOSTOK_COMPILE_POLICY_NEVER = 1 };
enum { VOSTOK_PER_MATRIX = 0, VOSTOK_PER_ROW = 1 };
enum {
  VOSTOK_OPERATION_SPMM = 0,
  VOSTOK_OPERATION_SDDMM = 1,
  VOSTOK_OPERATION_SOFTMAX = 2,
  VOSTOK_OPERATION_SOFTMAX_BACKWARD = 3,
  VOSTOK_OPERATION_ATTENTION = 4,
  VOSTOK_OPERATION_ATTENTION_BACKWARD = 5,
  VOSTOK_OPERATION_DEPTHWISE = 6,
  VOSTOK_OPERATION_BIAS_ACTIVATION = 7,
  VOSTOK_OPERATION_IM2COL = 8
};

/* --- The library ------------------------------------------------------------------------------------------------------------------------ */

/* "0.1.0". */
VOSTOK_API const char* vostok_version(void);
/* VOSTOK_ABI_VERSION of the library. */
VOSTOK_API int32_t vostok_abi_version(void);
/* The sentence of this thread's last failed call; "" before the first. */
VOSTOK_API const char* vostok_last_error(void);
/* "invalid_argument", ...; NULL for what is no status. */
VOSTOK_API const char* vostok_status_name(vostok_status status);
/* vostok_enum_name("dtype", 1) is "f16"; NULL past the last value and for an enumeration that is not known. Enumerations are named as the
 * constants above are, in lower case: "index_type", "layout", "effort", ... */
VOSTOK_API const char* vostok_enum_name(const char* enumeration, int32_t value);

/* --- Context ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct vostok_context vostok_context;
typedef struct vostok_topology vostok_topology;
typedef struct vostok_plan vostok_plan;
typedef struct vostok_packed vostok_packed; /* packed values */
typedef struct vostok_array vostok_array;   /* device memory with an owner */
typedef struct vostok_bytes vostok_bytes;   /* host memory with an owner */

/* As Options, CacheOptions and WorkerOptions have them. A NULL string means the default. Callbacks may come from any thread, several at
 * once, and must not unwind. Strings and lists are read during vostok_context_create only. */
typedef struct vostok_options {
  uint32_t size;
  int32_t allow_emulator; /* default 1 */
  const char* device;     /* default "auto" */
  void* cuda_context;     /* a CUcontext; default: the device's primary context */

  /* Device memory of the library: both or none. 256-byte aligned; NULL: there is none left. They must work until every object of the
   * context is gone. */
  void* (*allocate)(int64_t bytes, void* user);
  void (*release)(void* memory, void* user);
  void* allocator_user;
  int64_t max_workspace_bytes;

  int32_t cache_enabled;     /* default 1 */
  int32_t cache_environment; /* default 1 */
  const char* cache_folder;
  const char* const* read_only;
  int64_t read_only_count;
  int32_t allow_network_folder;
  int32_t lock_timeout_ms;
  const char* shipped;
  int64_t max_code_bytes;
  const char* const* trusted_keys;
  int64_t trusted_key_count;

  int32_t compile; /* VOSTOK_COMPILE_POLICY_... */
  int32_t check_shipped;
  int32_t cache_only;
  int32_t compile_threads; /* 0: one per core */
  const char* nvrtc;

  /* One line at a time, borrowed. NULL: warnings go to stderr. */
  void (*log)(int32_t level, const char* text, void* user);
  void* log_user;

  int32_t first_run; /* VOSTOK_FIRST_RUN_... */
  int32_t reserved;
  const char* worker_tool;
  double worker_timeout_seconds;
} vostok_options;

typedef struct vostok_device_info {
  uint32_t size;
  int32_t gpu;
  int32_t multiprocessors;
  int32_t clock_mhz;
  int32_t memory_clock_mhz;
  int32_t reserved;
  int64_t memory_bytes;
  int64_t l2_bytes;
  double peak_fp32_gflops;
  double peak_bandwidth_gb;
  const char* name; /* strings live as long as the context */
  const char* uuid;
  const char* architecture;
  const char* driver;
} vostok_device_info;

typedef struct vostok_counters {
  uint32_t size;
  int32_t reserved;
  int64_t kernels_compiled;
  int64_t compile_us;
  int64_t code_hits;
  int64_t tuning_hits;
  int64_t tuning_misses;
  int64_t invalid_rows;
  int64_t cache_warnings;
  int64_t memo_hits;
  int64_t trials_measured;
} vostok_counters;

VOSTOK_API void vostok_options_init(vostok_options* options, size_t size);
/* `options` may be NULL. */
VOSTOK_API vostok_status vostok_context_create(const vostok_options* options, vostok_context** context);
VOSTOK_API vostok_context* vostok_context_retain(vostok_context* context);
VOSTOK_API void vostok_context_release(vostok_context* context);
/* The caller sets info->size and counters->size. */
VOSTOK_API vostok_status vostok_context_device(const vostok_context* context, vostok_device_info* info);
VOSTOK_API vostok_status vostok_context_counters(const vostok_context* context, vostok_counters* counters);
VOSTOK_API vostok_status vostok_context_reload(const vostok_context* context);
/* Choices and trials as text, to be imported elsewhere. */
VOSTOK_API vostok_status vostok_context_export_cache(const vostok_context* context, vostok_bytes** bytes);
VOSTOK_API vostok_status vostok_context_import_cache(const vostok_context* context, const void* data, size_t size);

VOSTOK_API const void* vostok_bytes_data(const vostok_bytes* bytes);
VOSTOK_API size_t vostok_bytes_size(const vostok_bytes* bytes);
VOSTOK_API void vostok_bytes_release(vostok_bytes* bytes);

/* --- Device memory ---------------------------------------------------------------------------------------------------------------------- */

/* For programs without a memory manager of their own; 256-byte aligned. On the emulator it is host memory, and so may operands be. */
VOSTOK_API vostok_status vostok_array_create(const vostok_context* context, int64_t bytes, vostok_array** array);
VOSTOK_API vostok_array* vostok_array_retain(vostok_array* array);
/* Queued work that uses it must have run. */
VOSTOK_API void vostok_array_release(vostok_array* array);
VOSTOK_API void* vostok_array_data(const vostok_array* array);
VOSTOK_API int64_t vostok_array_bytes(const vostok_array* array);
/* Between host and device memory, behind the work queued on `stream`; complete on return. */
VOSTOK_API vostok_status vostok_copy_to_device(const vostok_context* context, void* device, const void* host, int64_t bytes, void* stream);
VOSTOK_API vostok_status vostok_copy_to_host(const vostok_context* context, void* host, const void* device, int64_t bytes, void* stream);

/* --- Topology --------------------------------------------------------------------------------------------------------------------------- */

typedef struct vostok_csr {
  uint32_t size;
  int32_t row_offset_bytes;   /* 2 (unsigned), 4 or 8 bytes an index; default 4 */
  int32_t column_index_bytes; /* likewise */
  int32_t reserved;
  int64_t rows;
  int64_t cols;
  const void* row_offsets; /* [rows + 1], host or device memory */
  const void* column_indices;
  int64_t nonzeros; /* default -1: not known */
} vostok_csr;

typedef struct vostok_statistics {
  uint32_t size;
  int32_t sorted;
  int32_t duplicates;
  int32_t reserved;
  int64_t rows;
  int64_t cols;
  int64_t nonzeros;
  int64_t longest_row;
  int64_t empty_rows;
  double mean_row;
  double row_variation;
  double run_share;
} vostok_statistics;

VOSTOK_API void vostok_csr_init(vostok_csr* csr, size_t size);
VOSTOK_API vostok_status vostok_topology_create(const vostok_context* context, const vostok_csr* csr, void* stream, vostok_topology** topology);
VOSTOK_API vostok_topology* vostok_topology_retain(vostok_topology* topology);
VOSTOK_API void vostok_topology_release(vostok_topology* topology);
/* The caller sets statistics->size. */
VOSTOK_API vostok_status vostok_topology_statistics(const vostok_topology* topology, vostok_statistics* statistics);
VOSTOK_API vostok_status vostok_topology_device_bytes(const vostok_topology* topology, int64_t* bytes);
VOSTOK_API vostok_status vostok_topology_release_source(const vostok_topology* topology);
/* Writes the CSR arrays into device memory: row offsets [rows + 1] and column indices [nonzeros], int32 or (index_bytes = 8) int64. */
VOSTOK_API vostok_status vostok_topology_read(const vostok_topology* topology, void* row_offsets, void* column_indices, int32_t index_bytes,
                                              void* stream);

/* --- Problems --------------------------------------------------------------------------------------------------------------------------- */

typedef struct vostok_spmm {
  uint32_t size;
  int32_t element;
  int64_t n;
  const int64_t* n_values; /* read by vostok_plan_spmm only */
  int64_t n_value_count;
  int64_t batch;
  int32_t values_per_batch;
  int32_t output;
  int32_t index;
  int32_t sparse_transposed;
  int32_t dense_layout;
  int32_t output_layout;
  int64_t dense_leading;
  int64_t output_leading;
  int64_t value_stride;
  int64_t dense_stride;
  int64_t output_stride;
  int32_t alignment_bytes;
  int32_t math;
  int32_t deterministic;
  int32_t nonfinite;
  int32_t value_lifetime;
  int32_t bias;
  int32_t residual;
  int32_t activation;
  int32_t scale;
  int32_t accumulate;
} vostok_spmm;

typedef struct vostok_spmm_arguments {
  uint32_t size;
  float scale; /* default 1 */
  const void* values;
  const vostok_packed* packed; /* in place of values where the lifetime is persistent */
  const void* dense;
  void* output;
  const void* bias;
  const void* residual;
  const float* device_scale;
  void* workspace;
  int64_t n;
} vostok_spmm_arguments;

typedef struct vostok_sddmm {
  uint32_t size;
  int32_t element;
  int64_t n;
  int64_t batch;
  int32_t output;
  int32_t index;
  int32_t lhs_layout;
  int32_t rhs_layout;
  int64_t lhs_leading;
  int64_t rhs_leading;
  int64_t lhs_stride;
  int64_t rhs_stride;
  int64_t output_stride;
  int64_t multiplier_stride;
  int32_t alignment_bytes;
  int32_t math;
  int32_t deterministic;
  int32_t nonfinite;
  int32_t scale;
  int32_t multiply;
  int32_t accumulate;
  int32_t reserved;
} vostok_sddmm;

typedef struct vostok_sddmm_arguments {
  uint32_t size;
  float scale;
  const void* lhs;
  const void* rhs;
  void* output;
  const void* multiplier;
  const float* device_scale;
  void* workspace;
} vostok_sddmm_arguments;

typedef struct vostok_softmax {
  uint32_t size;
  int32_t element;
  int64_t batch;
  int32_t output;
  int32_t alignment_bytes;
  int64_t value_stride;
  int64_t output_stride;
  int32_t deterministic;
  int32_t scale;
  int32_t statistics;
  int32_t reserved;
} vostok_softmax;

typedef struct vostok_softmax_arguments {
  uint32_t size;
  float scale;
  const void* values;
  void* output;
  float* row_statistics;
  const float* device_scale;
  void* workspace;
} vostok_softmax_arguments;

typedef struct vostok_softmax_backward {
  uint32_t size;
  int32_t element;
  int64_t batch;
  int32_t output;
  int32_t alignment_bytes;
  int64_t probability_stride;
  int64_t output_gradient_stride;
  int64_t input_gradient_stride;
  int32_t deterministic;
  int32_t scale;
} vostok_softmax_backward;

typedef struct vostok_softmax_backward_arguments {
  uint32_t size;
  float scale;
  const void* probabilities;
  const void* output_gradient;
  void* input_gradient;
  const float* device_scale;
  void* workspace;
} vostok_softmax_backward_arguments;

/* Also the problem of vostok_plan_attention_backward: that of the forward pass whose gradient it is. */
typedef struct vostok_attention {
  uint32_t size;
  int32_t element;
  int64_t n;
  int64_t value_size;
  int64_t batch;
  int64_t query_leading;
  int64_t key_leading;
  int64_t value_leading;
  int64_t output_leading;
  int64_t query_stride;
  int64_t key_stride;
  int64_t value_stride;
  int64_t output_stride;
  int32_t index;
  int32_t alignment_bytes;
  int32_t math;
  int32_t deterministic;
  int32_t nonfinite;
  int32_t saved;
} vostok_attention;

typedef struct vostok_attention_arguments {
  uint32_t size;
  float scale; /* 0: 1 / sqrt(n) */
  const void* query;
  const void* key;
  const void* value;
  void* output;
  void* saved;
  void* workspace;
} vostok_attention_arguments;

typedef struct vostok_attention_backward_arguments {
  uint32_t size;
  float scale;
  const void* query;
  const void* key;
  const void* value;
  const void* output_gradient;
  const void* saved;
  void* query_gradient;
  void* key_gradient;
  void* value_gradient;
  void* workspace;
} vostok_attention_backward_arguments;

typedef struct vostok_depthwise {
  uint32_t size;
  int32_t element;
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
  int32_t kernel;
  int32_t stride;
  int64_t padding_top;
  int64_t padding_bottom;
  int64_t padding_left;
  int64_t padding_right;
  int32_t alignment_bytes;
  int32_t bias;
  int32_t activation;
  int32_t reserved;
} vostok_depthwise;

typedef struct vostok_depthwise_arguments {
  uint32_t size;
  int32_t reserved;
  const void* input;
  const void* filters;
  const void* bias;
  void* output;
  void* workspace;
} vostok_depthwise_arguments;

typedef struct vostok_bias_activation {
  uint32_t size;
  int32_t element;
  int64_t batch;
  int64_t rows;
  int64_t columns;
  int32_t alignment_bytes;
  int32_t bias;
  int32_t activation;
  int32_t reserved;
} vostok_bias_activation;

typedef struct vostok_bias_activation_arguments {
  uint32_t size;
  int32_t reserved;
  const void* input;
  const void* bias;
  void* output;
  void* workspace;
} vostok_bias_activation_arguments;

typedef struct vostok_im2col {
  uint32_t size;
  int32_t element;
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
  int32_t kernel_height;
  int32_t kernel_width;
  int32_t stride;
  int32_t alignment_bytes;
  int64_t padding_top;
  int64_t padding_bottom;
  int64_t padding_left;
  int64_t padding_right;
} vostok_im2col;

typedef struct vostok_im2col_arguments {
  uint32_t size;
  int32_t reserved;
  const void* input;
  void* output;
  void* workspace;
} vostok_im2col_arguments;

/* Defaults, and `size`. */
VOSTOK_API void vostok_spmm_init(vostok_spmm* problem, size_t size);
VOSTOK_API void vostok_sddmm_init(vostok_sddmm* problem, size_t size);
VOSTOK_API void vostok_softmax_init(vostok_softmax* problem, size_t size);
VOSTOK_API void vostok_softmax_backward_init(vostok_softmax_backward* problem, size_t size);
VOSTOK_API void vostok_attention_init(vostok_attention* problem, size_t size);
VOSTOK_API void vostok_depthwise_init(vostok_depthwise* problem, size_t size);
VOSTOK_API void vostok_bias_activation_init(vostok_bias_activation* problem, size_t size);
VOSTOK_API void vostok_im2col_init(vostok_im2col* problem, size_t size);
VOSTOK_API void vostok_spmm_arguments_init(vostok_spmm_arguments* arguments, size_t size);
VOSTOK_API void vostok_sddmm_arguments_init(vostok_sddmm_arguments* arguments, size_t size);
VOSTOK_API void vostok_softmax_arguments_init(vostok_softmax_arguments* arguments, size_t size);
VOSTOK_API void vostok_softmax_backward_arguments_init(vostok_softmax_backward_arguments* arguments, size_t size);
VOSTOK_API void vostok_attention_arguments_init(vostok_attention_arguments* arguments, size_t size);
VOSTOK_API void vostok_attention_backward_arguments_init(vostok_attention_backward_arguments* arguments, size_t size);
VOSTOK_API void vostok_depthwise_arguments_init(vostok_depthwise_arguments* arguments, size_t size);
VOSTOK_API void vostok_bias_activation_arguments_init(vostok_bias_activation_arguments* arguments, size_t size);
VOSTOK_API void vostok_im2col_arguments_init(vostok_im2col_arguments* arguments, size_t size);

/* --- Plans ------------------------------------------------------------------------------------------------------------------------------ */

typedef struct vostok_plan_options {
  uint32_t size;
  int32_t effort; /* default VOSTOK_EFFORT_CACHED */
  void* stream;   /* checked for capture */
  double budget_seconds;
  uint64_t seed;
  const char* family; /* NULL: all */
  int32_t policy;
  int32_t overlap_calls; /* default 1 */
  void (*progress)(const char* text, void* user);
  void* progress_user;
  int32_t (*stop)(void* user); /* asked between measurements; not 0 ends tuning */
  void* stop_user;
} vostok_plan_options;

VOSTOK_API void vostok_plan_options_init(vostok_plan_options* options, size_t size);

/* `options` may be NULL. */
VOSTOK_API vostok_status vostok_plan_spmm(const vostok_context* context, const vostok_topology* topology, const vostok_spmm* problem,
                                          const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_sddmm(const vostok_context* context, const vostok_topology* topology, const vostok_sddmm* problem,
                                           const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_softmax(const vostok_context* context, const vostok_topology* topology, const vostok_softmax* problem,
                                             const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_softmax_backward(const vostok_context* context, const vostok_topology* topology,
                                                      const vostok_softmax_backward* problem, const vostok_plan_options* options,
                                                      vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_attention(const vostok_context* context, const vostok_topology* topology, const vostok_attention* problem,
                                               const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_attention_backward(const vostok_context* context, const vostok_topology* topology,
                                                        const vostok_attention* forward, const vostok_plan_options* options,
                                                        vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_depthwise(const vostok_context* context, const vostok_depthwise* problem,
                                               const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_bias_activation(const vostok_context* context, const vostok_bias_activation* problem,
                                                     const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_im2col(const vostok_context* context, const vostok_im2col* problem, const vostok_plan_options* options,
                                            vostok_plan** plan);

/* One of many problems: `problem` points to the operation's structure. */
typedef struct vostok_preparation {
  uint32_t size;
  int32_t operation; /* VOSTOK_OPERATION_... */
  const void* problem;
  const vostok_topology* topology; /* NULL for operations without one */
} vostok_preparation;

/* Plans all and lets the plans go. statuses[i], where given, says how problem i fared; `failures`, where given, are their sentences, one line
 * each (empty for those that went well). Fails itself only where nothing was tried. */
VOSTOK_API vostok_status vostok_prepare(const vostok_context* context, const vostok_preparation* problems, size_t count,
                                        const vostok_plan_options* options, vostok_status* statuses, vostok_bytes** failures);

VOSTOK_API vostok_plan* vostok_plan_retain(vostok_plan* plan);
VOSTOK_API void vostok_plan_release(vostok_plan* plan);
VOSTOK_API int32_t vostok_plan_operation(const vostok_plan* plan);
VOSTOK_API int64_t vostok_plan_workspace_bytes(const vostok_plan* plan); /* execute wants it 256-byte aligned: round up by yourself */
VOSTOK_API int64_t vostok_plan_saved_bytes(const vostok_plan* plan);     /* of attention */
VOSTOK_API int64_t vostok_plan_packed_bytes(const vostok_plan* plan);    /* of SpMM with persistent values; else 0 */
VOSTOK_API const char* vostok_plan_packed_format(const vostok_plan* plan);
VOSTOK_API int32_t vostok_plan_provenance(const vostok_plan* plan);
VOSTOK_API const char* vostok_plan_family(const vostok_plan* plan);
VOSTOK_API const char* vostok_plan_config(const vostok_plan* plan); /* "dense_vector=4 tile_rows=8 ..." */
VOSTOK_API const char* vostok_plan_explain(const vostok_plan* plan, int32_t detail);
VOSTOK_API vostok_status vostok_plan_rebind(const vostok_plan* plan, const vostok_topology* topology, vostok_plan** rebound);

VOSTOK_API vostok_status vostok_execute_spmm(const vostok_plan* plan, void* stream, const vostok_spmm_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_sddmm(const vostok_plan* plan, void* stream, const vostok_sddmm_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_softmax(const vostok_plan* plan, void* stream, const vostok_softmax_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_softmax_backward(const vostok_plan* plan, void* stream,
                                                         const vostok_softmax_backward_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_attention(const vostok_plan* plan, void* stream, const vostok_attention_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_attention_backward(const vostok_plan* plan, void* stream,
                                                           const vostok_attention_backward_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_depthwise(const vostok_plan* plan, void* stream, const vostok_depthwise_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_bias_activation(const vostok_plan* plan, void* stream,
                                                        const vostok_bias_activation_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_im2col(const vostok_plan* plan, void* stream, const vostok_im2col_arguments* arguments);

/* --- Packed values ---------------------------------------------------------------------------------------------------------------------- */

VOSTOK_API vostok_status vostok_plan_pack(const vostok_plan* plan, void* stream, const void* values, vostok_packed** packed);
VOSTOK_API vostok_packed* vostok_packed_retain(vostok_packed* packed);
VOSTOK_API void vostok_packed_release(vostok_packed* packed);
VOSTOK_API const char* vostok_packed_format(const vostok_packed* packed);
VOSTOK_API int64_t vostok_packed_bytes(const vostok_packed* packed);
VOSTOK_API vostok_status vostok_packed_topology(const vostok_packed* packed, vostok_topology** topology);
VOSTOK_API vostok_status vostok_packed_save(const vostok_packed* packed, vostok_bytes** bytes);
VOSTOK_API vostok_status vostok_packed_load(const vostok_context* context, const vostok_topology* topology, const void* data, size_t size,
                                            vostok_packed** packed);

/* --- Tools ------------------------------------------------------------------------------------------------------------------------------ */

typedef struct vostok_dense {
  uint32_t size;
  int32_t element;
  void* data; /* device memory, row-major; read only where it is an input */
  int64_t rows;
  int64_t cols;
  int64_t leading; /* 0: packed */
} vostok_dense;

typedef struct vostok_uniform_mask {
  uint32_t size;
  int32_t reserved;
  int64_t rows;
  int64_t cols;
  double sparsity;
  uint64_t seed;
} vostok_uniform_mask;

typedef struct vostok_block_mask {
  uint32_t size;
  int32_t reserved;
  int64_t rows;
  int64_t cols;
  int64_t block_size;
  double sparsity;
  uint64_t seed;
} vostok_block_mask;

typedef struct vostok_banded_mask {
  uint32_t size;
  int32_t causal;
  int64_t rows;
  int64_t cols;
  int64_t width;
} vostok_banded_mask;

typedef struct vostok_attention_mask {
  uint32_t size;
  int32_t causal;
  int64_t rows;
  int64_t cols;
  int64_t width;
  double sparsity;
  uint64_t seed;
} vostok_attention_mask;

VOSTOK_API void vostok_dense_init(vostok_dense* dense, size_t size);
VOSTOK_API void vostok_uniform_mask_init(vostok_uniform_mask* mask, size_t size);
VOSTOK_API void vostok_block_mask_init(vostok_block_mask* mask, size_t size);
VOSTOK_API void vostok_banded_mask_init(vostok_banded_mask* mask, size_t size);
VOSTOK_API void vostok_attention_mask_init(vostok_attention_mask* mask, size_t size);

VOSTOK_API vostok_status vostok_sparse_above(const vostok_context* context, const vostok_dense* dense, float threshold, void* stream,
                                             vostok_topology** topology, vostok_array** values);
VOSTOK_API vostok_status vostok_sparse_largest(const vostok_context* context, const vostok_dense* dense, int64_t count, int32_t per,
                                               void* stream, vostok_topology** topology, vostok_array** values);
VOSTOK_API vostok_status vostok_to_dense(const vostok_topology* topology, const void* values, const vostok_dense* dense, void* stream);
/* positions: int32 [nonzeros], where each nonzero's value lies in the source's order. */
VOSTOK_API vostok_status vostok_transpose(const vostok_topology* source, void* stream, vostok_topology** topology, vostok_array** positions);
VOSTOK_API vostok_status vostok_sort_columns(const vostok_topology* source, void* stream, vostok_topology** topology,
                                             vostok_array** positions);
/* index_bytes: 4 or 8 */
VOSTOK_API vostok_status vostok_linear_indices(const vostok_topology* topology, void* indices, int32_t index_bytes, void* stream);
VOSTOK_API vostok_status vostok_make_uniform_mask(const vostok_context* context, const vostok_uniform_mask* mask, void* stream,
                                                  vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_block_mask(const vostok_context* context, const vostok_block_mask* mask, void* stream,
                                                vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_banded_mask(const vostok_context* context, const vostok_banded_mask* mask, void* stream,
                                                 vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_attention_mask(const vostok_context* context, const vostok_attention_mask* mask, void* stream,
                                                    vostok_topology** topology);

#ifdef __cplusplus
}
#endif

#endif
