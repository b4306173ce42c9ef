// Wires planner, device and cache: the only file that knows all three.
#include <vostok/context.hpp>

#include <charconv>
#include <utility>

#include "base/boundary.hpp"
#include "base/environment.hpp"
#include "base/process_mark.hpp"
#include "base/text.hpp"
#include "cache/cache.hpp"
#include "context_state.hpp"
#include "device/device.hpp"
#include "plan/make_plan.hpp"
#include "plan/option_checks.hpp"
#include "plan/packed_file.hpp"
#include "plan/problem_line.hpp"
#include "plan/survey.hpp"

namespace vostok {

namespace {

constexpr std::string_view cuda_prefix = "cuda:";
constexpr std::string_view compile_prefix = "compile:";

[[noreturn]] void fail_device_name(const std::string& device) {
  fail(ErrorCode::invalid_argument,
       "cannot open device: \"{}\" does not name one; write auto, cuda:0, emulator or compile:sm_90", device);
}

int cuda_ordinal(const std::string& device) {
  const std::string_view digits = std::string_view(device).substr(cuda_prefix.size());
  int ordinal = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) fail_device_name(device);
  return ordinal;
}

std::shared_ptr<device::Device> open_device(const Options& options, Logger& logger) {
  const device::OpenOptions open{
      .cuda_context = options.cuda_context, .allocator = options.allocator, .nvrtc = options.nvrtc};
  if (options.device == "emulator") return device::open_emulator(open);
  if (options.device.starts_with(cuda_prefix)) return device::open_cuda(cuda_ordinal(options.device), open);
  if (options.device.starts_with(compile_prefix))
    return device::open_compile_only(options.device.substr(compile_prefix.size()), open);
  if (options.device != "auto") fail_device_name(options.device);

  // A context that was given says itself which device it lives on.
  constexpr int device_of_given_context = -1;
  if (options.cuda_context != nullptr) return device::open_cuda(device_of_given_context, open);
  std::string why;
  if (device::count_cuda(&why) > 0) return device::open_cuda(0, open);
  if (!options.allow_emulator)
    fail(ErrorCode::no_device, "cannot open device: {}; the emulator is not allowed by Options::allow_emulator", why);
  logger.info(
      "no usable GPU (`vostok doctor` tells why): running on the emulator, which is for correctness, not speed");
  return device::open_emulator(open);
}

/// Both values of NonFinite mean the same: one, so that plans and stored choices serve both.
template <class Problem>
Problem with_one_meaning(Problem problem) {
  if constexpr (requires { problem.nonfinite; })
    if (problem.nonfinite == NonFinite::dense) problem.nonfinite = NonFinite::sparse;
  return problem;
}

/// A plan that is made and captured, or an error that names everything that it lacks.
template <class Problem, class Make>
plan::PlanStatePointer planned(const Context& context, const Problem& problem, const Topology& topology,
                               const PlanOptions& options, const Make& make) {
  constexpr const char* verb = "plan";
  constexpr const char* object = "a problem";
  const ContextState& state = state_of(context, verb, object);
  return at_boundary(verb, object, [&] {
    plan::validate(options);
    try {
      plan::PlanStatePointer made = make(*state.planner);
      if (state.capture) state.capture->add(plan::problem_line(problem), options.family, topology);
      return made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::missing_kernel && error.code() != ErrorCode::missing_choice) throw;
      throw plan::shortage(*state.session, plan::survey(state.session, make), error);
    }
  });
}

}  // namespace

ContextState::ContextState(const Options& options)
    : logger(std::make_shared<Logger>(options.log)), counters(std::make_shared<plan::AtomicCounters>()) {
  auto device = open_device(options, *logger);
  cache::Opened opened = cache::open(options.cache, logger, [counts = counters] { ++counts->cache_warnings; });
  layers = std::move(opened.layers);
  exchange = std::move(opened.exchange);
  session = make_shared_here<plan::Session>(std::move(device), std::move(opened.stores), logger, counters, options);
  planner = make_shared_here<plan::Planner>(session);
  if (const auto file = trusted_environment("VOSTOK_CAPTURE")) capture = std::make_unique<plan::Capture>(*file, logger);
}

Context::Context() : Context(Options{}) {}

Context::Context(const Options& options)
    : state_(at_boundary("open", "context", [&] {
        plan::validate(options);
        return make_shared_here<ContextState>(options);
      })) {}

Topology Context::topology(const CsrView& csr, Stream stream) const {
  const ContextState& state = state_of(*this, "make", "topology");
  return at_boundary("make", "topology", [&] {
    state.session->require_no_capture(stream, "make topology");
    return Topology(std::make_shared<TopologyState>(state.session, csr, stream));
  });
}

template <class Problem>
  requires Problem::masked
Plan<Problem> Context::plan(const Problem& given, const Topology& topology, const PlanOptions& options) const {
  const Problem problem = with_one_meaning(given);
  return Plan<Problem>(planned(*this, problem, topology, options, [&](const plan::Planner& planner) {
    return plan::make_plan(planner, problem, topology, options);
  }));
}

template <class Problem>
  requires(!Problem::masked)
Plan<Problem> Context::plan(const Problem& given, const PlanOptions& options) const {
  const Problem problem = with_one_meaning(given);
  return Plan<Problem>(planned(*this, problem, {}, options, [&](const plan::Planner& planner) {
    return plan::make_plan(planner, problem, options);
  }));
}
template DepthwisePlan Context::plan(const DepthwiseConvolution&, const PlanOptions&) const;
template BiasActivationPlan Context::plan(const BiasActivation&, const PlanOptions&) const;
template Im2colPlan Context::plan(const Im2col&, const PlanOptions&) const;

template SpmmPlan Context::plan(const Spmm&, const Topology&, const PlanOptions&) const;
template SddmmPlan Context::plan(const Sddmm&, const Topology&, const PlanOptions&) const;
template SoftmaxPlan Context::plan(const Softmax&, const Topology&, const PlanOptions&) const;
template SoftmaxBackwardPlan Context::plan(const SoftmaxBackward&, const Topology&, const PlanOptions&) const;
template AttentionPlan Context::plan(const SparseAttention&, const Topology&, const PlanOptions&) const;
template AttentionBackwardPlan Context::plan(const SparseAttentionBackward&, const Topology&, const PlanOptions&) const;

namespace {

/// `load` with what its options say, which are checked.
template <class Load>
PackedValues loaded(const Context& context, const char* verb, const LoadOptions& options, const Load& load) {
  constexpr const char* object = "packed values";
  const ContextState& state = state_of(context, verb, object);
  return at_boundary(verb, object, [&] {
    const std::string what = fmt::format("{} {}", verb, object);
    plan::validate(options, what);
    if (options.topology) state.planner->require_usable(options.topology, options.stream, what);
    else state.session->require_no_capture(options.stream, what);
    return load(state.session);
  });
}

/// With a topology, an empty handle is none.
PackedValues loaded_for(const Context& context, const Topology& topology, const auto& load) {
  const ContextState& state = state_of(context, "load", "packed values");
  return at_boundary("load", "packed values", [&] {
    state.planner->require_usable(topology, nullptr, "load packed values");
    return load();
  });
}

}  // namespace

PackedValues Context::load_packed(const Topology& topology, std::span<const std::byte> bytes) const {
  return loaded_for(*this, topology, [&] { return plan::load_packed(topology, bytes, "memory"); });
}

PackedValues Context::load_packed(const Topology& topology, const std::filesystem::path& path) const {
  return loaded_for(*this, topology, [&] { return plan::load_packed(topology, path); });
}

PackedValues Context::load_packed(std::span<const std::byte> bytes, const LoadOptions& options) const {
  return loaded(*this, "load", options,
                [&](const auto& session) { return plan::load_packed(session, bytes, options, "memory"); });
}

PackedValues Context::load_packed(const std::filesystem::path& path, const LoadOptions& options) const {
  return loaded(*this, "load", options, [&](const auto& session) { return plan::load_packed(session, path, options); });
}

PackedValues Context::adopt_packed(std::span<const std::byte> head, const PackedMemory& values,
                                   const LoadOptions& options) const {
  return loaded(*this, "adopt", options,
                [&](const auto& session) { return plan::adopt_packed(session, head, values, options); });
}

PackedValues Context::adopt_packed(const PackedMemory& saved, const LoadOptions& options) const {
  return loaded(*this, "adopt", options,
                [&](const auto& session) { return plan::adopt_packed(session, saved, options); });
}

const DeviceInfo& Context::device() const { return state_of(*this, "describe", "device").session->device().info(); }

Counters Context::counters() const { return state_of(*this, "read", "counters").counters->read(); }

}  // namespace vostok
