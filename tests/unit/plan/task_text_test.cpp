// A task goes to another process as text, and what comes back plans the same kernels.
#include "plan/task_text.hpp"

#include "base/field_map.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/worker_options.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::Fixture;

namespace {

struct Planning {
  Fixture fixture;
  std::shared_ptr<plan::Session> session = fixture.session();
  std::shared_ptr<plan::Planner> planner = std::make_shared<plan::Planner>(session);
  Topology topology = Fixture::topology(session, sparse::uniform(64, 48, 0.8, 1));
};

/// The query that the text of `query` becomes must be the same one.
void check_rebuilt(const Planning& planning, const std::shared_ptr<ops::Query>& query, const Topology& topology) {
  const std::string operation(query->operation);
  CAPTURE(operation);
  const std::string identity = query->identity;
  query->identity += " family=row_tile packed_format=";
  const plan::TaskText text = plan::text_of(*query);
  const plan::Task task = plan::rebuilt_task(*planning.planner, text, topology, 1);
  CHECK(task.query->identity == identity);
  CHECK(task.query->exact == query->exact);
  CHECK(task.query->n == query->n);
  CHECK(task.query->policy == query->policy);
  CHECK(task.query->index == query->index);
  CHECK(task.query->statistics.nonzeros == query->statistics.nonzeros);
  for (const auto& family : ops::families(operation)) {
    if (family->declines(*query)) continue;
    const ops::Config config = family->default_config(*query);
    CHECK(family->default_config(*task.query) == config);
    CHECK(family->launches(*task.query, config, {}).front().request().expression ==
          family->launches(*query, config, {}).front().request().expression);
  }
}

}  // namespace

TEST_CASE("every operation's task survives as text") {
  const Planning planning;
  const TopologyStatistics& own = planning.topology.statistics();
  const TopologyStatistics& turned = planning.topology.state()->statistics(true);
  const device::Device* const device = &planning.session->device();
  const Spmm spmm{.n = 24,
                  .batch = 2,
                  .element = Dtype::f16,
                  .output = Dtype::f32,
                  .sparse_transposed = true,
                  .dense_leading = 40,
                  .math = Math::strict,
                  .value_lifetime = ValueLifetime::persistent,
                  .epilogue = {.bias = Bias::per_row, .activation = Activation::silu, .scale = Scale::host}};
  const auto query = ops::make_query(spmm, turned, {17, 24, 1}, device);
  query->policy = Policy::cold;
  check_rebuilt(planning, query, planning.topology);
  check_rebuilt(planning,
                ops::make_query(Sddmm{.n = 32, .element = Dtype::bf16, .multiply = true}, own, {32, 32}, device),
                planning.topology);
  check_rebuilt(planning,
                ops::make_query(Softmax{.scale = Scale::host, .statistics = RowStatistics::write}, own, {0, 0}, device),
                planning.topology);
  check_rebuilt(planning, ops::make_query(SparseAttention{.n = 32, .batch = 2, .element = Dtype::bf16}, own, device),
                planning.topology);
  check_rebuilt(planning,
                ops::make_query(SparseAttentionBackward{.forward = {.n = 16, .element = Dtype::f16}}, own, device),
                planning.topology);
  check_rebuilt(planning, ops::make_query(SoftmaxBackward{}, own, {0, 0}, device), planning.topology);
  check_rebuilt(
      planning,
      ops::make_query(DepthwiseConvolution{.channels = 8, .height = 12, .width = 12, .stride = 2}, {}, {0, 0}, device),
      {});
  check_rebuilt(planning,
                ops::make_query(BiasActivation{.rows = 4, .columns = 12, .bias = Bias::per_column}, {}, {0, 0}, device),
                {});
  check_rebuilt(planning,
                ops::make_query(Im2col{.channels = 2, .height = 9, .width = 7, .kernel_height = 3, .kernel_width = 3},
                                {}, {0, 0}, device),
                {});
}

TEST_CASE("every operation that has families can be rebuilt") {
  const Planning planning;
  for (const std::string_view operation : ops::operations()) {
    const plan::TaskText text{.operation = std::string(operation)};
    CHECK_NOTHROW(plan::rebuilt_task(*planning.planner, text, planning.topology, 1));
  }
}

TEST_CASE("a text that this version does not understand is refused") {
  const Planning planning;
  CHECK(test::code_of([&] { plan::rebuilt_task(*planning.planner, {.operation = "of_the_future"}, {}, 1); }) ==
        ErrorCode::invalid_argument);
  const plan::TaskText text{.operation = "spmm", .problem = {{"element", "f8"}}};
  CHECK(test::code_of([&] { plan::rebuilt_task(*planning.planner, text, planning.topology, 1); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("a worker's options are its owner's, but for what cannot leave a process") {
  Options options;
  options.device = "cuda:3";
  options.max_workspace_bytes = 12345;
  options.cache = {.enabled = true,
                   .folder = "/a folder/here",
                   .read_only = {"/one", "/two"},
                   .environment = false,
                   .max_code_bytes = 7,
                   .trusted_keys = {"ab01", "/keys/fleet.pub"},
                   .lock_timeout_ms = 11};
  const Options worker = plan::options_from(plan::to_fields(options, {.gpu = true}));
  CHECK(worker.device == "cuda:3");
  CHECK(worker.max_workspace_bytes == 12345);
  CHECK(worker.cache.folder == options.cache.folder);
  CHECK(worker.cache.read_only == options.cache.read_only);
  CHECK_FALSE(worker.cache.environment);
  CHECK_FALSE(worker.cache.shipped.has_value());
  CHECK(worker.cache.max_code_bytes == 7);
  CHECK(worker.cache.trusted_keys == options.cache.trusted_keys);
  CHECK(worker.cache.lock_timeout_ms == 11);
  CHECK(worker.worker.first_run == FirstRun::this_process);
  CHECK(plan::options_from(plan::to_fields(options, {.gpu = false})).device == "emulator");
}
