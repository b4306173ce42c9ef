// A product that is captured into a CUDA graph once and replayed with new operands in the same memory. The driver is
// opened when the program runs, so that it compiles without a CUDA toolkit; programs that have one include <cuda.h>
// instead.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <vostok/vostok.hpp>

namespace {

using Handle = void*;  ///< CUcontext, CUgraph, CUgraphExec

/// What this program needs of the driver.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) reason_ = dlerror();
    else if (call<int (*)(unsigned)>("cuInit")(0) != 0) reason_ = "the driver does not start";
    int devices = 0;
    if (reason_.empty() && (call<int (*)(int*)>("cuDeviceGetCount")(&devices) != 0 || devices == 0))
      reason_ = "the driver lists no GPU";
  }

  const std::string& reason() const { return reason_; }  ///< why there is no GPU; empty: there is one

  template <class... Parameters, class... Arguments>
  void require(const char* name, int (*)(Parameters...), Arguments... arguments) const {
    if (const int result = call<int (*)(Parameters...)>(name)(arguments...); result != 0)
      throw std::runtime_error(std::string(name) + " failed with " + std::to_string(result));
  }

 private:
  template <class Function>
  Function call(const char* name) const {
    void* const address = dlsym(library_, name);
    if (address == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    return reinterpret_cast<Function>(address);
  }

  void* library_;
  std::string reason_;
};

/// The type of a function of the driver's, for Driver::require.
template <class... Parameters>
constexpr int (*takes)(Parameters...) = nullptr;

/// Makes the first GPU's primary context, in which the library lives, this thread's.
void enter_primary_context(const Driver& driver) {
  int device = 0;
  Handle context = nullptr;
  driver.require("cuDeviceGet", takes<int*, int>, &device, 0);
  driver.require("cuDevicePrimaryCtxRetain", takes<Handle*, int>, &context, device);
  driver.require("cuCtxSetCurrent", takes<Handle>, context);
}

vostok::DeviceArray upload(const vostok::Context& context, const std::vector<float>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
  vostok::DeviceArray array = vostok::make_array(context, bytes);
  vostok::copy_to_device(context, array.data(), values.data(), bytes);
  return array;
}

/// Row sums of [1 2 0; 0 0 3] times a dense matrix of ones times a factor, by one graph for all factors.
void replay(const Driver& driver) {
  enter_primary_context(driver);
  constexpr std::int64_t rows = 2, cols = 3, n = 4;
  const std::vector<std::int32_t> row_offsets = {0, 2, 3}, column_indices = {0, 1, 2};
  const vostok::Context context(vostok::Options{.device = "cuda:0"});
  const vostok::Topology mask = context.topology(
      {.rows = rows, .cols = cols, .row_offsets = row_offsets.data(), .column_indices = column_indices.data()});
  const vostok::SpmmPlan plan = context.plan(vostok::Spmm{.n = n}, mask);
  const vostok::Workspace workspace = plan.make_workspace();
  const vostok::DeviceArray values = upload(context, {1, 2, 3});
  const vostok::DeviceArray dense = upload(context, std::vector<float>(cols * n));
  const vostok::DeviceArray product = upload(context, std::vector<float>(rows * n));

  // Planning may compile and allocate, and comes before the capture. Execute only launches.
  vostok::Stream stream = nullptr;
  Handle graph = nullptr, executable = nullptr;
  constexpr int thread_local_mode = 1;
  driver.require("cuStreamCreate", takes<vostok::Stream*, unsigned>, &stream, 0U);
  driver.require("cuStreamBeginCapture_v2", takes<vostok::Stream, int>, stream, thread_local_mode);
  plan.execute(stream,
               {.values = values.data(), .dense = dense.data(), .output = product.data(), .workspace = workspace});
  driver.require("cuStreamEndCapture", takes<vostok::Stream, Handle*>, stream, &graph);
  driver.require("cuGraphInstantiateWithFlags", takes<Handle*, Handle, unsigned long long>, &executable, graph, 0ULL);

  for (const float factor : {1.0F, 10.0F}) {
    const std::vector<float> operand(cols * n, factor);
    std::vector<float> output(rows * n);
    vostok::copy_to_device(context, dense.data(), operand.data(), dense.bytes(), stream);
    driver.require("cuGraphLaunch", takes<Handle, vostok::Stream>, executable, stream);
    vostok::copy_to_host(context, output.data(), product.data(), product.bytes(), stream);
    for (const float value : output) std::printf("%g ", value);
    std::printf("\n");
    if (output != std::vector<float>{3 * factor, 3 * factor, 3 * factor, 3 * factor, 3 * factor, 3 * factor, 3 * factor,
                                     3 * factor})
      throw std::runtime_error("the graph's product is wrong");
  }
  // The graph goes before what it reads and writes.
  driver.require("cuGraphExecDestroy", takes<Handle>, executable);
  driver.require("cuGraphDestroy", takes<Handle>, graph);
  driver.require("cuStreamDestroy_v2", takes<vostok::Stream>, stream);
}

}  // namespace

int main() {
  try {
    const Driver driver;
    if (!driver.reason().empty()) {
      std::printf("skipped: a CUDA graph needs a GPU, and %s\n", driver.reason().c_str());
      return 0;
    }
    replay(driver);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
