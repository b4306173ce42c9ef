/* A whole round through the C interface on the emulator, compiled as C99: context, topology, plan, execute, pack, save, load, tools, errors.
 * Ends with a line and a status that is not 0 where something is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vostok/vostok.h>

enum { rows = 5, cols = 8, n = 4, nonzeros = 9 };

static const int32_t row_offsets[rows + 1] = {0, 3, 3, 5, 8, 9};
static const uint16_t column_indices[nonzeros] = {7, 0, 2, 1, 6, 3, 4, 5, 0};

static int log_lines = 0;

static void count_line(int32_t level, const char* text, void* user) {
  if (level == VOSTOK_LOG_LEVEL_WARNING) fprintf(stderr, "warning: %s\n", text);
  ++*(int*)user;
}

#define REQUIRE(condition) require(condition, #condition, __LINE__)
static void require(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "round.c:%d: %s does not hold; last error: %s\n", line, what, vostok_last_error());
  exit(1);
}

static void refused(vostok_status status, vostok_status wanted, const char* part, int line) {
  if (status == wanted && strstr(vostok_last_error(), part) != NULL) return;
  fprintf(stderr, "round.c:%d: %s (%s) is not %s with \"%s\"\n", line, vostok_status_name(status), vostok_last_error(), vostok_status_name(wanted),
          part);
  exit(1);
}
#define REFUSED(status, wanted, part) refused(status, wanted, part, __LINE__)

static vostok_context* open_emulator(void) {
  vostok_options options;
  vostok_context* context;
  vostok_options_init(&options, sizeof options);
  options.device = "emulator";
  options.cache_enabled = 0;
  options.log = count_line;
  options.log_user = &log_lines;
  REQUIRE(vostok_context_create(&options, &context) == VOSTOK_OK);
  return context;
}

static vostok_topology* make_topology(const vostok_context* context) {
  vostok_csr csr;
  vostok_topology* topology;
  vostok_csr_init(&csr, sizeof csr);
  csr.rows = rows;
  csr.cols = cols;
  csr.row_offsets = row_offsets;
  csr.column_indices = column_indices;
  csr.column_index_bytes = sizeof column_indices[0];
  csr.nonzeros = nonzeros;
  REQUIRE(vostok_topology_create(context, &csr, NULL, &topology) == VOSTOK_OK);
  return topology;
}

static float value_of(int i) { return (float)(i + 1) / 4; }
static float dense_of(int row, int column) { return (float)(row - 2 * column) / 2; }

static vostok_array* make_array(const vostok_context* context, const void* host, int64_t bytes) {
  vostok_array* array;
  REQUIRE(vostok_array_create(context, bytes, &array) == VOSTOK_OK);
  REQUIRE(vostok_array_bytes(array) == bytes);
  if (host != NULL) REQUIRE(vostok_copy_to_device(context, vostok_array_data(array), host, bytes, NULL) == VOSTOK_OK);
  return array;
}

typedef struct operands {
  vostok_array* values;
  vostok_array* dense;
  vostok_array* output;
} operands;

static operands make_operands(const vostok_context* context) {
  float values[nonzeros];
  float dense[cols][n];
  operands made;
  for (int i = 0; i < nonzeros; ++i) values[i] = value_of(i);
  for (int row = 0; row < cols; ++row)
    for (int column = 0; column < n; ++column) dense[row][column] = dense_of(row, column);
  made.values = make_array(context, values, sizeof values);
  made.dense = make_array(context, dense, sizeof dense);
  made.output = make_array(context, NULL, sizeof(float) * rows * n);
  return made;
}

static void release_operands(operands* of) {
  vostok_array_release(of->values);
  vostok_array_release(of->dense);
  vostok_array_release(of->output);
}

/* The output is the product, and nothing of an earlier one is left. */
static void check_product(const vostok_context* context, const operands* of) {
  float output[rows][n];
  REQUIRE(vostok_copy_to_host(context, output, vostok_array_data(of->output), sizeof output, NULL) == VOSTOK_OK);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < n; ++column) {
      float expected = 0;
      for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) expected += value_of(i) * dense_of(column_indices[i], column);
      REQUIRE(fabsf(output[row][column] - expected) <= 1e-4F);
    }
  memset(output, 0xff, sizeof output);
  REQUIRE(vostok_copy_to_device(context, vostok_array_data(of->output), output, sizeof output, NULL) == VOSTOK_OK);
}

static vostok_plan* make_plan(const vostok_context* context, const vostok_topology* topology, int32_t value_lifetime) {
  vostok_spmm problem;
  vostok_plan* plan;
  vostok_spmm_init(&problem, sizeof problem);
  problem.n = n;
  problem.value_lifetime = value_lifetime;
  REQUIRE(vostok_plan_spmm(context, topology, &problem, NULL, &plan) == VOSTOK_OK);
  REQUIRE(vostok_plan_operation(plan) == VOSTOK_OPERATION_SPMM);
  REQUIRE(strlen(vostok_plan_family(plan)) > 0 && strstr(vostok_plan_config(plan), "=") != NULL);
  REQUIRE(vostok_plan_provenance(plan) == VOSTOK_PROVENANCE_HEURISTIC);
  REQUIRE(strstr(vostok_plan_explain(plan, VOSTOK_DETAIL_CHOICE), "spmm") != NULL);
  return plan;
}

static vostok_spmm_arguments make_arguments(const operands* of) {
  vostok_spmm_arguments arguments;
  vostok_spmm_arguments_init(&arguments, sizeof arguments);
  arguments.dense = vostok_array_data(of->dense);
  arguments.output = vostok_array_data(of->output);
  return arguments;
}

static void multiply(const vostok_context* context, const vostok_topology* topology, const operands* of) {
  vostok_plan* plan = make_plan(context, topology, VOSTOK_VALUE_LIFETIME_PER_CALL);
  vostok_spmm_arguments arguments = make_arguments(of);
  REQUIRE(vostok_plan_packed_bytes(plan) == 0 && strcmp(vostok_plan_packed_format(plan), "") == 0);
  arguments.values = vostok_array_data(of->values);
  REQUIRE(vostok_execute_spmm(plan, NULL, &arguments) == VOSTOK_OK);
  check_product(context, of);

  vostok_plan* rebound;
  REQUIRE(vostok_plan_rebind(plan, topology, &rebound) == VOSTOK_OK);
  vostok_plan_release(plan);
  REQUIRE(vostok_execute_spmm(rebound, NULL, &arguments) == VOSTOK_OK);
  check_product(context, of);
  arguments.dense = NULL;
  REFUSED(vostok_execute_spmm(rebound, NULL, &arguments), VOSTOK_INVALID_ARGUMENT, "dense");
  vostok_plan_release(rebound);
}

static void multiply_packed(const vostok_context* context, const vostok_topology* topology, const operands* of) {
  vostok_plan* plan = make_plan(context, topology, VOSTOK_VALUE_LIFETIME_PERSISTENT);
  vostok_spmm_arguments arguments = make_arguments(of);
  vostok_packed* packed;
  vostok_packed* loaded;
  vostok_topology* of_packed;
  vostok_bytes* saved;
  REQUIRE(vostok_plan_pack(plan, NULL, vostok_array_data(of->values), &packed) == VOSTOK_OK);
  REQUIRE(vostok_packed_bytes(packed) == vostok_plan_packed_bytes(plan));
  REQUIRE(strlen(vostok_packed_format(packed)) > 0);
  REQUIRE(vostok_packed_topology(packed, &of_packed) == VOSTOK_OK);
  vostok_topology_release(of_packed);
  arguments.packed = packed;
  REQUIRE(vostok_execute_spmm(plan, NULL, &arguments) == VOSTOK_OK);
  check_product(context, of);

  REQUIRE(vostok_packed_save(packed, &saved) == VOSTOK_OK);
  vostok_packed_release(packed);
  REFUSED(vostok_packed_load(context, topology, vostok_bytes_data(saved), 10, &loaded), VOSTOK_IO_FAILURE, "");
  REQUIRE(loaded == NULL);
  REQUIRE(vostok_packed_load(context, topology, vostok_bytes_data(saved), vostok_bytes_size(saved), &loaded) == VOSTOK_OK);
  vostok_bytes_release(saved);
  arguments.packed = loaded;
  REQUIRE(vostok_execute_spmm(plan, NULL, &arguments) == VOSTOK_OK);
  check_product(context, of);
  vostok_packed_release(loaded);
  vostok_plan_release(plan);
}

static void check_structure(const vostok_context* context, const vostok_topology* topology) {
  vostok_statistics statistics;
  statistics.size = sizeof statistics;
  REQUIRE(vostok_topology_statistics(topology, &statistics) == VOSTOK_OK);
  REQUIRE(statistics.rows == rows && statistics.cols == cols && statistics.nonzeros == nonzeros && statistics.longest_row == 3);
  REQUIRE(!statistics.sorted && !statistics.duplicates && statistics.empty_rows == 1);
  int64_t bytes = 0;
  REQUIRE(vostok_topology_device_bytes(topology, &bytes) == VOSTOK_OK && bytes > 0);

  int64_t offsets[rows + 1];
  int64_t columns[nonzeros];
  vostok_array* device_offsets = make_array(context, NULL, sizeof offsets);
  vostok_array* device_columns = make_array(context, NULL, sizeof columns);
  REQUIRE(vostok_topology_read(topology, vostok_array_data(device_offsets), vostok_array_data(device_columns), 8, NULL) == VOSTOK_OK);
  REQUIRE(vostok_copy_to_host(context, offsets, vostok_array_data(device_offsets), sizeof offsets, NULL) == VOSTOK_OK);
  REQUIRE(vostok_copy_to_host(context, columns, vostok_array_data(device_columns), sizeof columns, NULL) == VOSTOK_OK);
  for (int row = 0; row <= rows; ++row) REQUIRE(offsets[row] == row_offsets[row]);
  for (int i = 0; i < nonzeros; ++i) REQUIRE(columns[i] == column_indices[i]);
  REFUSED(vostok_topology_read(topology, offsets, columns, 2, NULL), VOSTOK_INVALID_ARGUMENT, "index_bytes = 2");
  vostok_array_release(device_offsets);
  vostok_array_release(device_columns);
}

static void check_tools(const vostok_context* context, const vostok_topology* topology, const operands* of) {
  vostok_topology* turned;
  vostok_topology* sorted;
  vostok_topology* again;
  vostok_array* positions;
  vostok_array* values;
  vostok_array* matrix = make_array(context, NULL, sizeof(float) * rows * cols);
  vostok_statistics statistics;
  vostok_dense dense;
  statistics.size = sizeof statistics;
  REQUIRE(vostok_transpose(topology, NULL, &turned, &positions) == VOSTOK_OK);
  REQUIRE(vostok_array_bytes(positions) == nonzeros * 4);
  vostok_array_release(positions);
  REQUIRE(vostok_topology_statistics(turned, &statistics) == VOSTOK_OK && statistics.rows == cols && statistics.cols == rows);
  REQUIRE(vostok_sort_columns(topology, NULL, &sorted, &positions) == VOSTOK_OK);
  vostok_array_release(positions);
  REQUIRE(vostok_topology_statistics(sorted, &statistics) == VOSTOK_OK && statistics.sorted);

  vostok_dense_init(&dense, sizeof dense);
  dense.rows = rows;
  dense.cols = cols;
  dense.data = vostok_array_data(matrix);
  REQUIRE(vostok_to_dense(topology, vostok_array_data(of->values), &dense, NULL) == VOSTOK_OK);
  REQUIRE(vostok_sparse_above(context, &dense, 0, NULL, &again, &values) == VOSTOK_OK);
  REQUIRE(vostok_topology_statistics(again, &statistics) == VOSTOK_OK && statistics.nonzeros == nonzeros);
  vostok_topology_release(again);
  vostok_array_release(values);
  REQUIRE(vostok_sparse_largest(context, &dense, 1, VOSTOK_PER_ROW, NULL, &again, &values) == VOSTOK_OK);
  REQUIRE(vostok_topology_statistics(again, &statistics) == VOSTOK_OK && statistics.nonzeros == rows);
  vostok_topology_release(again);
  vostok_array_release(values);
  dense.rows = cols;
  REFUSED(vostok_to_dense(topology, vostok_array_data(of->values), &dense, NULL), VOSTOK_INVALID_ARGUMENT, "8 x 8");

  int32_t indices[nonzeros];
  vostok_array* device_indices = make_array(context, NULL, sizeof indices);
  REQUIRE(vostok_linear_indices(topology, vostok_array_data(device_indices), 4, NULL) == VOSTOK_OK);
  REQUIRE(vostok_copy_to_host(context, indices, vostok_array_data(device_indices), sizeof indices, NULL) == VOSTOK_OK);
  REQUIRE(indices[0] == 7 && indices[3] == 2 * cols + 1);
  vostok_array_release(device_indices);
  vostok_array_release(matrix);
  vostok_topology_release(turned);
  vostok_topology_release(sorted);
}

static int64_t nonzeros_of(vostok_status status, vostok_topology* topology) {
  vostok_statistics statistics;
  statistics.size = sizeof statistics;
  REQUIRE(status == VOSTOK_OK && vostok_topology_statistics(topology, &statistics) == VOSTOK_OK);
  vostok_topology_release(topology);
  return statistics.nonzeros;
}

static void check_masks(const vostok_context* context) {
  vostok_topology* mask;
  vostok_uniform_mask uniform;
  vostok_block_mask block;
  vostok_banded_mask banded;
  vostok_attention_mask attention;
  vostok_status status;
  vostok_uniform_mask_init(&uniform, sizeof uniform);
  uniform.rows = uniform.cols = 16;
  uniform.sparsity = 0.75;
  status = vostok_make_uniform_mask(context, &uniform, NULL, &mask);
  REQUIRE(nonzeros_of(status, mask) == 64);
  vostok_block_mask_init(&block, sizeof block);
  block.rows = block.cols = 16;
  block.block_size = 4;
  block.sparsity = 0.5;
  status = vostok_make_block_mask(context, &block, NULL, &mask);
  REQUIRE(nonzeros_of(status, mask) == 128);
  vostok_banded_mask_init(&banded, sizeof banded);
  banded.rows = banded.cols = 16;
  banded.causal = 1;
  status = vostok_make_banded_mask(context, &banded, NULL, &mask);
  REQUIRE(nonzeros_of(status, mask) == 16);
  vostok_attention_mask_init(&attention, sizeof attention);
  attention.rows = attention.cols = 16;
  status = vostok_make_attention_mask(context, &attention, NULL, &mask);
  REQUIRE(nonzeros_of(status, mask) == 256);
  attention.causal = 2;
  REFUSED(vostok_make_attention_mask(context, &attention, NULL, &mask), VOSTOK_INVALID_ARGUMENT, "causal = 2");
}

static void check_context(const vostok_context* context) {
  vostok_device_info info;
  vostok_counters counters;
  vostok_bytes* choices;
  info.size = sizeof info;
  counters.size = sizeof counters;
  REQUIRE(vostok_context_device(context, &info) == VOSTOK_OK);
  REQUIRE(!info.gpu && strcmp(info.architecture, "emulator") == 0);
  REQUIRE(vostok_context_counters(context, &counters) == VOSTOK_OK && counters.kernels_compiled > 0);
  REQUIRE(vostok_context_export_cache(context, &choices) == VOSTOK_OK && vostok_bytes_size(choices) > 0);
  REQUIRE(vostok_context_import_cache(context, vostok_bytes_data(choices), vostok_bytes_size(choices)) == VOSTOK_OK);
  vostok_bytes_release(choices);
  REFUSED(vostok_context_import_cache(context, "nonsense", 8), VOSTOK_INVALID_ARGUMENT, "");
  REQUIRE(vostok_context_reload(context) == VOSTOK_OK);
}

int main(void) {
  REQUIRE(vostok_abi_version() == VOSTOK_ABI_VERSION && strcmp(vostok_last_error(), "") == 0);
  vostok_context* context = open_emulator();
  vostok_topology* topology = make_topology(context);
  operands of = make_operands(context);
  multiply(context, topology, &of);
  multiply_packed(context, topology, &of);
  check_structure(context, topology);
  check_tools(context, topology, &of);
  check_masks(context);
  check_context(context);

  /* What is made from a context keeps it. */
  REQUIRE(vostok_context_retain(context) == context);
  vostok_context_release(context);
  vostok_context_release(context);
  release_operands(&of);
  vostok_topology_release(topology);
  printf("vostok %s: a whole round, %d lines logged\n", vostok_version(), log_lines);
  return 0;
}
