/* A sparse matrix times a dense one, in C99: cc -std=c99 spmm.c $(pkg-config --cflags --libs vostok).
 *
 * Runs on a GPU where there is one, else on the emulator. */
#include <stdio.h>
#include <stdlib.h>

#include <vostok/vostok.h>

enum { rows = 4, cols = 6, n = 2, nonzeros = 5 };

static void check(vostok_status status) {
  if (status == VOSTOK_OK) return;
  fprintf(stderr, "%s: %s\n", vostok_status_name(status), vostok_last_error());
  exit(1);
}

/* Device memory that holds a copy of `host`. */
static vostok_array* upload(const vostok_context* context, const void* host, int64_t bytes) {
  vostok_array* array;
  check(vostok_array_create(context, bytes, &array));
  check(vostok_copy_to_device(context, vostok_array_data(array), host, bytes, NULL));
  return array;
}

int main(void) {
  /* Where the nonzeros are: a topology. It is copied, and may serve many plans. */
  static const int32_t row_offsets[rows + 1] = {0, 2, 2, 4, 5};
  static const int32_t column_indices[nonzeros] = {0, 3, 1, 5, 2};
  vostok_context* context;
  vostok_topology* topology;
  vostok_csr csr;
  check(vostok_context_create(NULL, &context));
  vostok_csr_init(&csr, sizeof csr);
  csr.rows = rows;
  csr.cols = cols;
  csr.row_offsets = row_offsets;
  csr.column_indices = column_indices;
  check(vostok_topology_create(context, &csr, NULL, &topology));

  /* What is to be computed: decided and compiled once. */
  vostok_spmm problem;
  vostok_plan* plan;
  vostok_spmm_init(&problem, sizeof problem);
  problem.n = n;
  problem.activation = VOSTOK_ACTIVATION_RELU;
  check(vostok_plan_spmm(context, topology, &problem, NULL, &plan));

  /* Operands in device memory, and the product: queued on a stream as often as wanted. */
  static const float values[nonzeros] = {1, 2, -3, 4, 5};
  static const float dense[cols][n] = {{1, 0}, {0, 1}, {2, 2}, {1, 1}, {3, 3}, {0, -1}};
  float output[rows][n];
  vostok_array* device_values = upload(context, values, sizeof values);
  vostok_array* device_dense = upload(context, dense, sizeof dense);
  vostok_array* device_output;
  vostok_array* workspace;
  vostok_spmm_arguments arguments;
  void* const stream = VOSTOK_STREAM_LEGACY;
  check(vostok_array_create(context, sizeof output, &device_output));
  check(vostok_array_create(context, vostok_plan_workspace_bytes(plan), &workspace));
  vostok_spmm_arguments_init(&arguments, sizeof arguments);
  arguments.values = vostok_array_data(device_values);
  arguments.dense = vostok_array_data(device_dense);
  arguments.output = vostok_array_data(device_output);
  arguments.workspace = vostok_array_data(workspace);
  check(vostok_execute_spmm(plan, stream, &arguments));
  check(vostok_copy_to_host(context, output, vostok_array_data(device_output), sizeof output, stream));
  for (int row = 0; row < rows; ++row) printf("%g %g\n", output[row][0], output[row][1]);

  vostok_array_release(workspace);
  vostok_array_release(device_output);
  vostok_array_release(device_dense);
  vostok_array_release(device_values);
  vostok_plan_release(plan);
  vostok_topology_release(topology);
  vostok_context_release(context);
  return 0;
}
