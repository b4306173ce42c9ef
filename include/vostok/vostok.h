/* Vostok's C interface: sparse kernels for deep learning, planned, generated, tuned and run on NVIDIA GPUs.
 *
 * C99. Every function that can fail returns a status: 0 is good, else 1 + the ErrorCode of the C++ library.
 * vostok_last_error() has the sentence. Nothing is thrown across this interface. Problems, arguments and tools do
 * what their namesakes of <vostok/vostok.hpp> do, where more is said of each.
 *
 * Structures begin with their own `size`, which the init functions set along with the defaults. A program works with
 * older and newer libraries: fields are only ever added at the end. What a library does not know of a structure, and
 * every field `reserved`, must be zero (else VOSTOK_UNSUPPORTED). Enumerations and flags are int32_t: a flag is 0 or
 * 1, and another value, or an enumerator that is none, is VOSTOK_INVALID_ARGUMENT. Defaults are 0 where none is named.
 * Leading dimensions and strides are counted in elements; 0 means packed.
 *
 *     vostok_spmm problem;
 *     vostok_spmm_init(&problem, sizeof problem);
 *     problem.n = 64;
 *
 * Handles are retained by each of their owners, and shared between threads. Releasing NULL does nothing, and what was
 * made from a handle keeps it. Output handles are NULL where a call fails. A NULL argument is VOSTOK_INVALID_ARGUMENT,
 * unless it says that it may be NULL. Where functions without a status fail they answer NULL or -1 (0 bytes for no
 * array and no bytes). Strings that functions return are borrowed: they live until the calling thread's next
 * call that returns a string. Handles do not survive fork: in the child, calls are VOSTOK_AFTER_FORK.
 *
 * Streams are CUstream (cudaStream_t is the same type). To execute, NULL is the legacy default stream. To calls that
 * read arrays in device memory, NULL means that these are complete; VOSTOK_STREAM_LEGACY orders a call behind the
 * legacy stream. All but execute may allocate and compile: on a stream that is being captured they are
 * VOSTOK_CAPTURE_ACTIVE.
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

/* --- Constants: those of <vostok/enums.hpp>, which the library checks name by name ------------------------------- */

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

/* DEFAULT, of outputs only: the element type. */
enum { VOSTOK_DTYPE_DEFAULT = -1, VOSTOK_DTYPE_F32 = 0, VOSTOK_DTYPE_F16 = 1, VOSTOK_DTYPE_BF16 = 2 };
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
enum { VOSTOK_KEEP_EVERYTHING = 0, VOSTOK_KEEP_PACKING = 1, VOSTOK_KEEP_EXECUTION = 2 };
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

/* --- The library ------------------------------------------------------------------------------------------------- */

/* "0.1.0". */
VOSTOK_API const char* vostok_version(void);
/* VOSTOK_ABI_VERSION of the library. */
VOSTOK_API int32_t vostok_abi_version(void);
/* The sentence of this thread's last failed call, until its next one that fails; "" before the first. */
VOSTOK_API const char* vostok_last_error(void);
/* "invalid_argument", ...; NULL for what is no status. */
VOSTOK_API const char* vostok_status_name(vostok_status status);
/* vostok_enum_name("dtype", 1) is "f16"; NULL past the last value and for an enumeration that is not known.
 * Enumerations are named as the constants above are, in lower case: "index_type", "layout", "effort", ... */
VOSTOK_API const char* vostok_enum_name(const char* enumeration, int32_t value);

/* --- Context ----------------------------------------------------------------------------------------------------- */

typedef struct vostok_context vostok_context;
typedef struct vostok_topology vostok_topology;
typedef struct vostok_plan vostok_plan;
typedef struct vostok_packed vostok_packed; /* packed values */
typedef struct vostok_array vostok_array;   /* device memory with an owner */
typedef struct vostok_bytes vostok_bytes;   /* host memory with an owner */

/* Fields as in Options, CacheOptions and WorkerOptions. A NULL string means the default. Callbacks may come from any
 * thread, several at once, and must not unwind. Strings and lists are read by vostok_context_create only. */
typedef struct vostok_options {
  uint32_t size;
  int32_t allow_emulator; /* 0: "auto" without a GPU is VOSTOK_NO_DEVICE; default 1 */
  const char* device;     /* "auto" (default), "cuda:0", "emulator", "compile:sm_90", ... */
  void* cuda_context;     /* a CUcontext; default: the device's primary context */

  /* Allocator for the library's device memory: both or none. Memory must be 256-byte aligned; NULL: there is none left.
   * They must work until every object of the context is gone. */
  void* (*allocate)(int64_t bytes, void* user);
  void (*release)(void* memory, void* user);
  void* allocator_user;
  int64_t max_workspace_bytes; /* candidates that need more are not admitted; default 1 GiB */

  int32_t cache_enabled;        /* 0: memory only; default 1 */
  int32_t cache_environment;    /* heed VOSTOK_READ_ONLY_CACHE; default 1 */
  const char* cache_folder;     /* default: VOSTOK_CACHE_DIR, XDG_CACHE_HOME/vostok, HOME/.cache/vostok */
  const char* const* read_only; /* [read_only_count] files or folders of files, asked after the folder's */
  int64_t read_only_count;
  int32_t allow_network_folder;    /* write to a folder on a network file system */
  int32_t lock_timeout_ms;         /* how long to wait for another process; default 5000 */
  const char* shipped;             /* folder of the shipped files; default: share/vostok of the library's prefix */
  int64_t max_code_bytes;          /* bound on the user's code.db; default 512 MiB */
  const char* const* trusted_keys; /* [trusted_key_count] Ed25519 public keys, by digits or file */
  int64_t trusted_key_count;

  int32_t compile;         /* VOSTOK_COMPILE_POLICY_... */
  int32_t check_shipped;   /* race choices that were tuned elsewhere against the default before first use */
  int32_t cache_only;      /* only choices that were tuned for exactly the problem (Options::cache_only) */
  int32_t compile_threads; /* 0: one per core */
  const char* nvrtc;       /* libnvrtc to use; default: searched for */

  /* One line at a time, borrowed. NULL: warnings go to stderr. */
  void (*log)(int32_t level, const char* text, void* user);
  void* log_user;

  int32_t first_run;             /* VOSTOK_FIRST_RUN_... */
  int32_t reserved;              /* 0 */
  const char* worker_tool;       /* the tool `vostok`; default: VOSTOK_TOOL, else from PATH */
  double worker_timeout_seconds; /* a candidate without an answer counts as hung; default 30 */
} vostok_options;

typedef struct vostok_device_info {
  uint32_t size;
  int32_t gpu; /* 0: the emulator, or a device that only compiles */
  int32_t multiprocessors;
  int32_t clock_mhz; /* highest */
  int32_t memory_clock_mhz;
  int32_t reserved; /* 0 */
  int64_t memory_bytes;
  int64_t l2_bytes;
  double peak_fp32_gflops;  /* 0: unknown */
  double peak_bandwidth_gb; /* GB/s; 0: unknown */
  const char* name;         /* strings live as long as the context */
  const char* uuid;
  const char* architecture; /* "sm_90", or "emulator" */
  const char* driver;       /* "13.0", or the host compiler on the emulator */
} vostok_device_info;

typedef struct vostok_counters {
  uint32_t size;
  int32_t reserved; /* 0 */
  int64_t kernels_compiled;
  int64_t compile_us;  /* in the compiler, summed over threads */
  int64_t code_hits;   /* kernels found in a cache */
  int64_t tuning_hits; /* decisions found in a cache */
  int64_t tuning_misses;
  int64_t invalid_rows;    /* stored configs that today's rules forbid */
  int64_t cache_warnings;  /* each was logged once */
  int64_t memo_hits;       /* decisions made before in this process */
  int64_t trials_measured; /* candidates that quick and full efforts measured */
} vostok_counters;

VOSTOK_API void vostok_options_init(vostok_options* options, size_t size);
/* `options` may be NULL. Errors: VOSTOK_INVALID_ARGUMENT, VOSTOK_NO_DEVICE, VOSTOK_IO_FAILURE. */
VOSTOK_API vostok_status vostok_context_create(const vostok_options* options, vostok_context** context);
VOSTOK_API vostok_context* vostok_context_retain(vostok_context* context);
VOSTOK_API void vostok_context_release(vostok_context* context);
/* The caller sets info->size and counters->size; no more than that is written. */
VOSTOK_API vostok_status vostok_context_device(const vostok_context* context, vostok_device_info* info);
VOSTOK_API vostok_status vostok_context_counters(const vostok_context* context, vostok_counters* counters);
/* Reads the cache files again, to see what other processes wrote meanwhile. */
VOSTOK_API vostok_status vostok_context_reload(const vostok_context* context);
/* Choices and trials as text, to be imported elsewhere. A faulty text is VOSTOK_INVALID_ARGUMENT, naming the line;
 * nothing is imported then. */
VOSTOK_API vostok_status vostok_context_export_cache(const vostok_context* context, vostok_bytes** bytes);
VOSTOK_API vostok_status vostok_context_import_cache(const vostok_context* context, const void* data, size_t size);

VOSTOK_API const void* vostok_bytes_data(const vostok_bytes* bytes);
VOSTOK_API size_t vostok_bytes_size(const vostok_bytes* bytes);
VOSTOK_API void vostok_bytes_release(vostok_bytes* bytes);

/* --- Device memory ----------------------------------------------------------------------------------------------- */

/* For programs without a memory manager of their own: `bytes` of uninitialised memory, 256-byte aligned. For 0 bytes
 * its data is NULL. On the emulator it is host memory, and operands may be, too. Errors: VOSTOK_OUT_OF_MEMORY. */
VOSTOK_API vostok_status vostok_array_create(const vostok_context* context, int64_t bytes, vostok_array** array);
VOSTOK_API vostok_array* vostok_array_retain(vostok_array* array);
/* Queued work that uses it must have finished. */
VOSTOK_API void vostok_array_release(vostok_array* array);
VOSTOK_API void* vostok_array_data(const vostok_array* array);
VOSTOK_API int64_t vostok_array_bytes(const vostok_array* array);
/* Copy `bytes` between host and device memory, behind the work queued so far on `stream`; complete on return. */
VOSTOK_API vostok_status vostok_copy_to_device(const vostok_context* context, void* device, const void* host,
                                               int64_t bytes, void* stream);
VOSTOK_API vostok_status vostok_copy_to_host(const vostok_context* context, void* host, const void* device,
                                             int64_t bytes, void* stream);

/* --- Topology ---------------------------------------------------------------------------------------------------- */

typedef struct vostok_csr {
  uint32_t size;
  int32_t row_offset_bytes;   /* 2 (unsigned), 4 or 8 bytes an index; default 4 */
  int32_t column_index_bytes; /* 2 (unsigned), 4 or 8 bytes an index; default 4 */
  int32_t reserved;           /* 0 */
  int64_t rows;               /* 0 to 2^31 - 2 */
  int64_t cols;               /* 0 to 2^31 - 1 */
  const void* row_offsets;    /* [rows + 1], host or device memory */
  const void* column_indices; /* [nonzeros], in [0, cols); any order in a row, repeats add up */
  int64_t nonzeros;           /* row_offsets[rows]; default -1: not known */
} vostok_csr;

typedef struct vostok_statistics {
  uint32_t size;
  int32_t sorted;     /* columns ascend in every row */
  int32_t duplicates; /* a row names a column twice */
  int32_t reserved;   /* 0 */
  int64_t rows;
  int64_t cols;
  int64_t nonzeros;
  int64_t longest_row; /* nonzeros */
  int64_t empty_rows;
  double mean_row;      /* nonzeros / rows */
  double row_variation; /* standard deviation of row lengths / mean_row */
  double run_share;     /* share of nonzeros in runs of 32 neighbours: 0 at random, 1 in bands */
  double span_share;    /* mean share of columns from a row's first entry to its last: 1/2 of a causal mask */
} vostok_statistics;

VOSTOK_API void vostok_csr_init(vostok_csr* csr, size_t size);
/* Copies and checks a structure; ready for any stream on return. Arrays in device memory are read behind the work
 * queued so far on `stream`. Errors: VOSTOK_INVALID_TOPOLOGY (names row and value), VOSTOK_UNSUPPORTED, ... */
VOSTOK_API vostok_status vostok_topology_create(const vostok_context* context, const vostok_csr* csr, void* stream,
                                                vostok_topology** topology);
VOSTOK_API vostok_topology* vostok_topology_retain(vostok_topology* topology);
VOSTOK_API void vostok_topology_release(vostok_topology* topology);
/* The caller sets statistics->size. */
VOSTOK_API vostok_status vostok_topology_statistics(const vostok_topology* topology, vostok_statistics* statistics);
/* Device memory held, derived forms included. */
VOSTOK_API vostok_status vostok_topology_device_bytes(const vostok_topology* topology, int64_t* bytes);
/* Frees the CSR arrays, for programs that execute only plans of packed values; whatever needs the arrays is then
 * VOSTOK_INVALID_ARGUMENT. So is this call while a plan that reads them is alive. */
VOSTOK_API vostok_status vostok_topology_release_source(const vostok_topology* topology);
/* As vostok_topology_release_source, and also frees what only packing reads. Plans of packed values are made and
 * executed as before; packing and loading are then VOSTOK_INVALID_ARGUMENT. */
VOSTOK_API vostok_status vostok_topology_release_packing(const vostok_topology* topology);
/* Writes the CSR arrays into device memory, on `stream`: row offsets [rows + 1] and column indices [nonzeros], int32
 * where index_bytes is 4, int64 where it is 8. */
VOSTOK_API vostok_status vostok_topology_read(const vostok_topology* topology, void* row_offsets, void* column_indices,
                                              int32_t index_bytes, void* stream);

/* --- Problems ---------------------------------------------------------------------------------------------------- */

/* Operands are device pointers, of the types and alignment that the problem declares. m x k is the topology's shape. */

/* C[m, n] = activation(scale * A[m, k] B[k, n] + bias + residual + (accumulate ? C : 0)), or of A^T B[m, n]. */
typedef struct vostok_spmm {
  uint32_t size;
  int32_t element;         /* VOSTOK_DTYPE_..., of the values and B */
  int64_t n;               /* columns of B and C; ignored where n_values is set */
  const int64_t* n_values; /* [n_value_count] plan for every 0 <= n <= max; execute takes n. Read by planning only */
  int64_t n_value_count;
  int64_t batch;             /* default 1 */
  int32_t values_per_batch;  /* each of the batch has values of its own */
  int32_t output;            /* VOSTOK_DTYPE_... of C; default VOSTOK_DTYPE_DEFAULT */
  int32_t index;             /* VOSTOK_INDEX_TYPE_..., of what kernels read */
  int32_t sparse_transposed; /* A^T B */
  int32_t dense_layout;      /* of B; column-major: stored as [n, k] */
  int32_t output_layout;     /* of C */
  int64_t dense_leading;     /* elements between rows of B (columns, where column-major) */
  int64_t output_leading;    /* elements between rows of C (columns, where column-major) */
  int64_t value_stride;      /* elements between the values of two of a batch */
  int64_t dense_stride;      /* between two B */
  int64_t output_stride;     /* between two C */
  int32_t alignment_bytes;   /* of every pointer at execute: element size to 16; default 16 */
  int32_t math;              /* default VOSTOK_MATH_ACCURATE */
  int32_t deterministic;     /* default 1 */
  int32_t nonfinite;         /* default VOSTOK_NON_FINITE_SPARSE; _DENSE means the same */
  int32_t value_lifetime;    /* persistent: values are packed once and passed as `packed` */
  int32_t bias;              /* VOSTOK_BIAS_... */
  int32_t residual;          /* add a matrix like the output */
  int32_t activation;        /* VOSTOK_ACTIVATION_... */
  int32_t scale;             /* VOSTOK_SCALE_... */
  int32_t accumulate;        /* add to what the output holds */
  int32_t bias_element;      /* VOSTOK_DTYPE_F32 (default) or the element type */
  int32_t reserved;          /* 0 */
} vostok_spmm;

typedef struct vostok_spmm_arguments {
  uint32_t size;
  float scale;                 /* where the problem's scale is host; default 1 */
  const void* values;          /* [nonzeros] or [batch, nonzeros], in CSR order of A, not of A^T */
  const vostok_packed* packed; /* in place of values where the lifetime is persistent */
  const void* dense;           /* B */
  void* output;                /* C; shares no element with another operand */
  const void* bias;            /* [m] or [n], of bias_element */
  const void* residual;        /* as the output */
  const float* device_scale;   /* where the problem's scale is device */
  void* workspace;             /* 256-byte aligned; NULL where vostok_plan_workspace_bytes is 0 */
  int64_t n;                   /* only for a plan of several n */
} vostok_spmm_arguments;

/* D = scale * (A[m, n] B[k, n]^T) where the mask [m, k] has nonzeros, times C (multiply), plus D (accumulate). */
typedef struct vostok_sddmm {
  uint32_t size;
  int32_t element; /* of A, B and C */
  int64_t n;       /* inner size; 0 is legal */
  int64_t batch;   /* default 1 */
  int32_t output;  /* of D: f32 or the element type; default VOSTOK_DTYPE_DEFAULT */
  int32_t index;
  int32_t lhs_layout;  /* of A [m, n]; column-major: stored as [n, m] */
  int32_t rhs_layout;  /* of B [k, n]; column-major: stored as [n, k] */
  int64_t lhs_leading; /* elements between rows of A (columns, where column-major) */
  int64_t rhs_leading;
  int64_t lhs_stride; /* elements between two A of a batch */
  int64_t rhs_stride;
  int64_t output_stride;     /* elements between the nonzeros of two D of a batch */
  int64_t multiplier_stride; /* as output_stride, for C; 0: one C for the whole batch */
  int32_t alignment_bytes;   /* default 16 */
  int32_t math;              /* default VOSTOK_MATH_ACCURATE */
  int32_t deterministic;     /* default 1 */
  int32_t nonfinite;
  int32_t scale;
  int32_t multiply;   /* multiply by the values of C */
  int32_t accumulate; /* add to what the output holds */
  int32_t reserved;   /* 0 */
} vostok_sddmm;

typedef struct vostok_sddmm_arguments {
  uint32_t size;
  float scale;               /* default 1 */
  const void* lhs;           /* A */
  const void* rhs;           /* B */
  void* output;              /* nonzeros of D in CSR order, [batch, nonzeros]; may be `multiplier` */
  const void* multiplier;    /* nonzeros of C in CSR order */
  const float* device_scale; /* where the problem's scale is device */
  void* workspace;           /* 256-byte aligned */
} vostok_sddmm_arguments;

/* y = exp(scale * x) / the row's sum of exp(scale * x), over the nonzeros of each row. */
typedef struct vostok_softmax {
  uint32_t size;
  int32_t element;         /* of x */
  int64_t batch;           /* default 1 */
  int32_t output;          /* of y; default VOSTOK_DTYPE_DEFAULT */
  int32_t alignment_bytes; /* default 16 */
  int64_t value_stride;    /* elements between two x of a batch */
  int64_t output_stride;   /* the same of y */
  int32_t deterministic;   /* default 1 */
  int32_t scale;
  int32_t statistics; /* VOSTOK_ROW_STATISTICS_... */
  int32_t reserved;   /* 0 */
} vostok_softmax;

typedef struct vostok_softmax_arguments {
  uint32_t size;
  float scale;               /* default 1 */
  const void* values;        /* x: [batch, nonzeros], in CSR order */
  void* output;              /* y; may be `values` where types and strides are the same */
  float* row_statistics;     /* [batch, m]: log-sum-exp of each scaled row, written or read */
  const float* device_scale; /* where the problem's scale is device */
  void* workspace;           /* 256-byte aligned */
} vostok_softmax_arguments;

/* dx = scale * y * (dy - the row's sum of y * dy). */
typedef struct vostok_softmax_backward {
  uint32_t size;
  int32_t element;            /* of y and dy */
  int64_t batch;              /* default 1 */
  int32_t output;             /* of dx; default VOSTOK_DTYPE_DEFAULT */
  int32_t alignment_bytes;    /* default 16 */
  int64_t probability_stride; /* elements between two y of a batch */
  int64_t output_gradient_stride;
  int64_t input_gradient_stride;
  int32_t deterministic; /* default 1 */
  int32_t scale;
} vostok_softmax_backward;

typedef struct vostok_softmax_backward_arguments {
  uint32_t size;
  float scale;                 /* default 1 */
  const void* probabilities;   /* y of the forward pass */
  const void* output_gradient; /* dy */
  void* input_gradient;        /* dx; may be `output_gradient` */
  const float* device_scale;   /* where the problem's scale is device */
  void* workspace;             /* 256-byte aligned */
} vostok_softmax_backward_arguments;

/* softmax(scale * Q K^T, at the mask [m, k]) V for heads that share the mask. vostok_plan_attention_backward takes the
 * problem of the forward pass whose gradient it is. */
typedef struct vostok_attention {
  uint32_t size;
  int32_t element;       /* of every operand */
  int64_t n;             /* size of a query and of a key */
  int64_t value_size;    /* 0: n */
  int64_t batch;         /* heads; default 1 */
  int64_t query_leading; /* elements between two queries of a head */
  int64_t key_leading;
  int64_t value_leading;
  int64_t output_leading;
  int64_t query_stride; /* elements between two heads */
  int64_t key_stride;
  int64_t value_stride;
  int64_t output_stride;
  int32_t index;
  int32_t alignment_bytes; /* default 16 */
  int32_t math;            /* default VOSTOK_MATH_ACCURATE */
  int32_t deterministic;   /* default 1 */
  int32_t nonfinite;
  int32_t saved;         /* VOSTOK_SAVED_...: what the backward pass will read */
  int64_t heads_at_once; /* in the workspace, a divisor of batch; 0: as many as have 128 MiB of probabilities, or one */
  int64_t key_heads;   /* heads of keys and of values, a divisor of batch, each of batch / key_heads heads; 0: batch */
  int32_t capped;      /* 1: scores become softcap * tanh(scores / softcap) */
  int32_t causal;      /* 1: query i attends to no key behind i + k - m */
  int32_t biased;      /* 1: each of the mask's elements has a bias, behind scale and cap */
  int32_t dropped;     /* 1: probabilities are dropped, the others divided by 1 - dropout */
  int64_t bias_stride; /* elements between two heads' biases; 0: all heads share them */
} vostok_attention;

typedef struct vostok_attention_arguments {
  uint32_t size;
  float scale;                   /* 0: 1 / sqrt(n) */
  const void* query;             /* [batch, m, n] */
  const void* key;               /* [key_heads, k, n] */
  const void* value;             /* [key_heads, k, value_size] */
  void* output;                  /* [batch, m, value_size]; shares no element with another operand */
  void* saved;                   /* vostok_plan_saved_bytes long, 256-byte aligned; where something is saved */
  void* workspace;               /* 256-byte aligned */
  float softcap;                 /* where the problem is capped, positive and finite; else 0 */
  float dropout;                 /* where the problem is dropped, the share of probabilities, between 0 and 1; else 0 */
  const void* bias;              /* [batch, nonzeros] in the mask's order, where the problem is biased */
  const uint64_t* dropout_state; /* where it is dropped: [2] on the device, a seed and an offset, read by kernels */
} vostok_attention_arguments;

typedef struct vostok_attention_backward_arguments {
  uint32_t size;
  float scale; /* that of the forward pass */
  const void* query;
  const void* key;
  const void* value;
  const void* output_gradient; /* laid out as the output */
  const void* saved;           /* of the forward pass */
  void* query_gradient;        /* laid out as the queries */
  void* key_gradient;          /* as the keys */
  void* value_gradient;        /* as the values */
  void* workspace;             /* 256-byte aligned */
  float softcap;               /* that of the forward pass */
  float dropout;               /* likewise */
  const void* output;          /* of the forward pass; only where that saved row statistics */
  const void* bias;
  void* bias_gradient;           /* packed [batch, nonzeros], however heads share biases; null: not wanted */
  const uint64_t* dropout_state; /* that of the forward pass, with the same numbers */
} vostok_attention_backward_arguments;

/* Every channel with a filter of its own, bias and activation fused. Output height: (height + padding_top +
 * padding_bottom - kernel) / stride + 1. */
typedef struct vostok_depthwise {
  uint32_t size;
  int32_t element; /* of input, filters and output */
  int64_t batch;   /* default 1 */
  int64_t channels;
  int64_t height;
  int64_t width;
  int32_t kernel; /* 3 (default) or 5 */
  int32_t stride; /* 1 (default) or 2 */
  int64_t padding_top;
  int64_t padding_bottom;
  int64_t padding_left;
  int64_t padding_right;
  int32_t alignment_bytes; /* default 16 */
  int32_t bias;            /* 0 or 1 */
  int32_t activation;      /* VOSTOK_ACTIVATION_... */
  int32_t bias_element;    /* VOSTOK_DTYPE_F32 (default) or the element type */
} vostok_depthwise;

typedef struct vostok_depthwise_arguments {
  uint32_t size;
  int32_t reserved;    /* 0 */
  const void* input;   /* [batch, channels, height, width] */
  const void* filters; /* [channels, kernel, kernel] */
  const void* bias;    /* [channels], of bias_element */
  void* output;        /* [batch, channels, output height, output width]; shares no element with another */
  void* workspace;     /* 256-byte aligned */
} vostok_depthwise_arguments;

/* y = activation(x + bias) for dense [batch, rows, columns]. */
typedef struct vostok_bias_activation {
  uint32_t size;
  int32_t element;
  int64_t batch; /* default 1 */
  int64_t rows;
  int64_t columns;
  int32_t alignment_bytes; /* default 16 */
  int32_t bias;            /* default VOSTOK_BIAS_PER_ROW */
  int32_t activation;      /* default VOSTOK_ACTIVATION_RELU */
  int32_t bias_element;    /* VOSTOK_DTYPE_F32 (default) or the element type */
} vostok_bias_activation;

typedef struct vostok_bias_activation_arguments {
  uint32_t size;
  int32_t reserved;  /* 0 */
  const void* input; /* [batch, rows, columns] */
  const void* bias;  /* [rows] or [columns], of bias_element */
  void* output;      /* may be `input` */
  void* workspace;   /* 256-byte aligned */
} vostok_bias_activation_arguments;

/* Image patches as the columns of a matrix; its rows are ordered channel, filter row, filter column. */
typedef struct vostok_im2col {
  uint32_t size;
  int32_t element;
  int64_t batch; /* default 1 */
  int64_t channels;
  int64_t height;
  int64_t width;
  int32_t kernel_height;   /* default 3 */
  int32_t kernel_width;    /* default 3 */
  int32_t stride;          /* default 1 */
  int32_t alignment_bytes; /* default 16 */
  int64_t padding_top;
  int64_t padding_bottom;
  int64_t padding_left;
  int64_t padding_right;
} vostok_im2col;

typedef struct vostok_im2col_arguments {
  uint32_t size;
  int32_t reserved;  /* 0 */
  const void* input; /* [batch, channels, height, width] */
  void* output;      /* [batch, channels * kernel_height * kernel_width, output height * output width] */
  void* workspace;   /* 256-byte aligned */
} vostok_im2col_arguments;

/* Write the defaults and `size`: no more than `size` bytes, and zeros where the library knows fewer. */
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

/* --- Plans ------------------------------------------------------------------------------------------------------- */

typedef struct vostok_plan_options {
  uint32_t size;
  int32_t effort;                                 /* default VOSTOK_EFFORT_CACHED */
  void* stream;                                   /* checked for capture */
  double budget_seconds;                          /* for quick and full: when no new measurement starts; default 30 */
  uint64_t seed;                                  /* of the tuner's operands and order; default 1 */
  const char* family;                             /* only this kernel family; NULL: all */
  int32_t policy;                                 /* VOSTOK_POLICY_... */
  int32_t overlap_calls;                          /* a call may start while the preceding kernel ends; default 1 */
  void (*progress)(const char* text, void* user); /* one line at a time, borrowed */
  void* progress_user;
  int32_t (*stop)(void* user); /* polled between measurements; not 0 ends tuning */
  void* stop_user;
  const char* packed_format; /* only choices that read packed values of this format; NULL: all */
} vostok_plan_options;

VOSTOK_API void vostok_plan_options_init(vostok_plan_options* options, size_t size);

/* Decide, compile and load; `options` may be NULL. Errors: VOSTOK_INVALID_ARGUMENT, VOSTOK_UNSUPPORTED,
 * VOSTOK_WRONG_DEVICE, VOSTOK_NO_COMPILER, VOSTOK_MISSING_KERNEL, VOSTOK_MISSING_CHOICE, VOSTOK_OUT_OF_MEMORY, ... */
VOSTOK_API vostok_status vostok_plan_spmm(const vostok_context* context, const vostok_topology* topology,
                                          const vostok_spmm* problem, const vostok_plan_options* options,
                                          vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_sddmm(const vostok_context* context, const vostok_topology* topology,
                                           const vostok_sddmm* problem, const vostok_plan_options* options,
                                           vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_softmax(const vostok_context* context, const vostok_topology* topology,
                                             const vostok_softmax* problem, const vostok_plan_options* options,
                                             vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_softmax_backward(const vostok_context* context, const vostok_topology* topology,
                                                      const vostok_softmax_backward* problem,
                                                      const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_attention(const vostok_context* context, const vostok_topology* topology,
                                               const vostok_attention* problem, const vostok_plan_options* options,
                                               vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_attention_backward(const vostok_context* context, const vostok_topology* topology,
                                                        const vostok_attention* forward,
                                                        const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_depthwise(const vostok_context* context, const vostok_depthwise* problem,
                                               const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_bias_activation(const vostok_context* context,
                                                     const vostok_bias_activation* problem,
                                                     const vostok_plan_options* options, vostok_plan** plan);
VOSTOK_API vostok_status vostok_plan_im2col(const vostok_context* context, const vostok_im2col* problem,
                                            const vostok_plan_options* options, vostok_plan** plan);

/* One of many problems: `problem` points to the operation's structure. */
typedef struct vostok_preparation {
  uint32_t size;
  int32_t operation; /* VOSTOK_OPERATION_... */
  const void* problem;
  const vostok_topology* topology; /* NULL for operations without one */
} vostok_preparation;

/* Plans all and drops the plans: planning them later finds everything made. problems[i] lies i * problems[0].size bytes
 * behind the first. statuses[i] (unless NULL) is the status of problem i; `failures` (unless NULL) has a line for each,
 * empty for those that succeeded. Fails itself only if nothing was tried. */
VOSTOK_API vostok_status vostok_prepare(const vostok_context* context, const vostok_preparation* problems, size_t count,
                                        const vostok_plan_options* options, vostok_status* statuses,
                                        vostok_bytes** failures);

VOSTOK_API vostok_plan* vostok_plan_retain(vostok_plan* plan);
VOSTOK_API void vostok_plan_release(vostok_plan* plan);
VOSTOK_API int32_t vostok_plan_operation(const vostok_plan* plan);
VOSTOK_API int64_t vostok_plan_workspace_bytes(const vostok_plan* plan); /* for one execute at a time */
VOSTOK_API int64_t vostok_plan_saved_bytes(const vostok_plan* plan);     /* of attention */
VOSTOK_API int64_t vostok_plan_packed_bytes(const vostok_plan* plan);    /* of SpMM with persistent values; else 0 */
VOSTOK_API const char* vostok_plan_packed_format(const vostok_plan* plan);
VOSTOK_API int32_t vostok_plan_provenance(const vostok_plan* plan);
VOSTOK_API const char* vostok_plan_family(const vostok_plan* plan);
VOSTOK_API const char* vostok_plan_config(const vostok_plan* plan); /* "dense_vector=4 tile_rows=8 ..." */
VOSTOK_API const char* vostok_plan_explain(const vostok_plan* plan, int32_t detail);
/* A plan for another topology of the same shape: mostly the same decision, without a look-up or a compile. */
VOSTOK_API vostok_status vostok_plan_rebind(const vostok_plan* plan, const vostok_topology* topology,
                                            vostok_plan** rebound);

/* Queue the work on `stream`: thread-safe, legal while it is captured, without an allocation, a lock or a wait.
 * Nothing was queued where they fail. Errors: VOSTOK_INVALID_ARGUMENT (also a plan of another operation),
 * VOSTOK_MISALIGNED_POINTER, VOSTOK_FORMAT_MISMATCH (packed values of another topology or format), ... */
VOSTOK_API vostok_status vostok_execute_spmm(const vostok_plan* plan, void* stream,
                                             const vostok_spmm_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_sddmm(const vostok_plan* plan, void* stream,
                                              const vostok_sddmm_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_softmax(const vostok_plan* plan, void* stream,
                                                const vostok_softmax_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_softmax_backward(const vostok_plan* plan, void* stream,
                                                         const vostok_softmax_backward_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_attention(const vostok_plan* plan, void* stream,
                                                  const vostok_attention_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_attention_backward(const vostok_plan* plan, void* stream,
                                                           const vostok_attention_backward_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_depthwise(const vostok_plan* plan, void* stream,
                                                  const vostok_depthwise_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_bias_activation(const vostok_plan* plan, void* stream,
                                                        const vostok_bias_activation_arguments* arguments);
VOSTOK_API vostok_status vostok_execute_im2col(const vostok_plan* plan, void* stream,
                                               const vostok_im2col_arguments* arguments);

/* --- Packed values ----------------------------------------------------------------------------------------------- */

/* Packs values, as `values` of execute, behind the work queued so far on `stream`; ready for any stream on return. For
 * plans of SpMM whose value_lifetime is persistent. */
VOSTOK_API vostok_status vostok_plan_pack(const vostok_plan* plan, void* stream, const void* values,
                                          vostok_packed** packed);

/* The caller's device memory in which packed values lie. While they are in use only vostok_plan_pack_into may write it,
 * which replaces them. */
typedef struct vostok_packed_memory {
  uint32_t size;
  int32_t reserved; /* 0 */
  void* data;       /* 256-byte aligned */
  int64_t bytes;    /* at least as many as are needed */
  /* Called at once when the last handle of the values is gone, without waiting for queued work; not called if the call
   * fails. NULL: the caller keeps the memory alive that long. */
  void (*release)(void* data, void* user);
  void* user;
} vostok_packed_memory;

/* How saved packed values are loaded. */
typedef struct vostok_load_options {
  uint32_t size;
  int32_t keep;                    /* VOSTOK_KEEP_..., of a newly made topology */
  const vostok_topology* topology; /* of the same structure; NULL: one is made of the saved structure */
  void* stream;                    /* device memory is read behind the work queued so far on it */
} vostok_load_options;

VOSTOK_API void vostok_packed_memory_init(vostok_packed_memory* memory, size_t size);
VOSTOK_API void vostok_load_options_init(vostok_load_options* options, size_t size);
/* As vostok_plan_pack, into memory of at least vostok_plan_packed_bytes(). Values packed there before are replaced;
 * whoever reads them must have finished. */
VOSTOK_API vostok_status vostok_plan_pack_into(const vostok_plan* plan, void* stream, const void* values,
                                               const vostok_packed_memory* memory, vostok_packed** packed);
VOSTOK_API vostok_packed* vostok_packed_retain(vostok_packed* packed);
VOSTOK_API void vostok_packed_release(vostok_packed* packed);
VOSTOK_API const char* vostok_packed_format(const vostok_packed* packed);
VOSTOK_API int64_t vostok_packed_bytes(const vostok_packed* packed);
VOSTOK_API vostok_status vostok_packed_topology(const vostok_packed* packed, vostok_topology** topology);
/* All that loading needs: a head, which contains the structure, and the values as they lie in device memory. */
VOSTOK_API vostok_status vostok_packed_save(const vostok_packed* packed, vostok_bytes** bytes);
/* The head alone, a multiple of 256 bytes: for vostok_packed_adopt. */
VOSTOK_API vostok_status vostok_packed_save_head(const vostok_packed* packed, vostok_bytes** bytes);
/* Loads for `topology`, or if that is NULL for a topology made of the saved structure. Bytes of unknown origin are
 * safe. Errors: VOSTOK_IO_FAILURE (damaged, cut short), VOSTOK_FORMAT_MISMATCH (of another structure), ... */
VOSTOK_API vostok_status vostok_packed_load(const vostok_context* context, const vostok_topology* topology,
                                            const void* data, size_t size, vostok_packed** packed);
/* As vostok_packed_load, with the topology, stream and `keep` of `options`, which may be NULL. */
VOSTOK_API vostok_status vostok_packed_load_with(const vostok_context* context, const void* data, size_t size,
                                                 const vostok_load_options* options, vostok_packed** packed);
/* Packed values that stay in place, in the caller's device memory. `head`, in host memory, is the result of
 * vostok_packed_save_head, and `values` begins with the rest. If `head` is NULL, `values` holds the whole result of
 * vostok_packed_save. `options` may be NULL. Errors: as of loading; VOSTOK_MISALIGNED_POINTER, ... */
VOSTOK_API vostok_status vostok_packed_adopt(const vostok_context* context, const void* head, size_t head_size,
                                             const vostok_packed_memory* values, const vostok_load_options* options,
                                             vostok_packed** packed);

/* --- Tools ------------------------------------------------------------------------------------------------------- */

typedef struct vostok_dense {
  uint32_t size;
  int32_t element;
  void* data; /* device memory, row-major; read only where it is an input */
  int64_t rows;
  int64_t cols;
  int64_t leading; /* elements between rows; 0: packed */
} vostok_dense;

typedef struct vostok_uniform_mask {
  uint32_t size;
  int32_t reserved; /* 0 */
  int64_t rows;
  int64_t cols;
  double sparsity; /* share of zeros, 0 to 1 */
  uint64_t seed;   /* default 1 */
} vostok_uniform_mask;

typedef struct vostok_block_mask {
  uint32_t size;
  int32_t reserved; /* 0 */
  int64_t rows;
  int64_t cols;
  int64_t block_size; /* default 1 */
  double sparsity;    /* share of blocks that are zero */
  uint64_t seed;      /* default 1 */
} vostok_block_mask;

typedef struct vostok_banded_mask {
  uint32_t size;
  int32_t causal; /* up to the diagonal, not around it */
  int64_t rows;
  int64_t cols;
  int64_t width; /* elements of a row; default 1 */
} vostok_banded_mask;

typedef struct vostok_attention_mask {
  uint32_t size;
  int32_t causal;
  int64_t rows;
  int64_t cols;
  int64_t width;   /* of the dense band; default 256 */
  double sparsity; /* expected beyond the band; default 0.95 */
  uint64_t seed;   /* default 1 */
} vostok_attention_mask;

VOSTOK_API void vostok_dense_init(vostok_dense* dense, size_t size);
VOSTOK_API void vostok_uniform_mask_init(vostok_uniform_mask* mask, size_t size);
VOSTOK_API void vostok_block_mask_init(vostok_block_mask* mask, size_t size);
VOSTOK_API void vostok_banded_mask_init(vostok_banded_mask* mask, size_t size);
VOSTOK_API void vostok_attention_mask_init(vostok_attention_mask* mask, size_t size);

/* The elements whose magnitude is above `threshold`, or the `count` largest of the matrix or of each row
 * (VOSTOK_PER_...): a topology, columns ascending, and its values. */
VOSTOK_API vostok_status vostok_sparse_above(const vostok_context* context, const vostok_dense* dense, float threshold,
                                             void* stream, vostok_topology** topology, vostok_array** values);
VOSTOK_API vostok_status vostok_sparse_largest(const vostok_context* context, const vostok_dense* dense, int64_t count,
                                               int32_t per, void* stream, vostok_topology** topology,
                                               vostok_array** values);
/* Writes every element of a dense matrix of the topology's shape: zeros, and the values of its type. */
VOSTOK_API vostok_status vostok_to_dense(const vostok_topology* topology, const void* values, const vostok_dense* dense,
                                         void* stream);
/* With ascending columns. positions: int32 [nonzeros], where each nonzero's value lies in the source's order. */
VOSTOK_API vostok_status vostok_transpose(const vostok_topology* source, void* stream, vostok_topology** topology,
                                          vostok_array** positions);
VOSTOK_API vostok_status vostok_sort_columns(const vostok_topology* source, void* stream, vostok_topology** topology,
                                             vostok_array** positions);
/* row * cols + column of every nonzero: int32 where index_bytes is 4, int64 where it is 8. */
VOSTOK_API vostok_status vostok_linear_indices(const vostok_topology* topology, void* indices, int32_t index_bytes,
                                               void* stream);
/* Masks with ascending columns; the same seed gives the same mask on every machine. */
VOSTOK_API vostok_status vostok_make_uniform_mask(const vostok_context* context, const vostok_uniform_mask* mask,
                                                  void* stream, vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_block_mask(const vostok_context* context, const vostok_block_mask* mask,
                                                void* stream, vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_banded_mask(const vostok_context* context, const vostok_banded_mask* mask,
                                                 void* stream, vostok_topology** topology);
VOSTOK_API vostok_status vostok_make_attention_mask(const vostok_context* context, const vostok_attention_mask* mask,
                                                    void* stream, vostok_topology** topology);

#ifdef __cplusplus
}
#endif

#endif
