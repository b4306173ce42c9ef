#include "plan/worker_server.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/field_map.hpp"
#include "base/text.hpp"
#include "plan/task_text.hpp"
#include "tune/failure_status.hpp"

namespace vostok::plan {

namespace {

using State = tune::FrameStream::State;

constexpr int samples = 3;

tune::Frame told(const char* status, std::string reason = {}) { return {.fields = {{"status", status}, {"reason", std::move(reason)}}, .bytes = {}}; }

template <class T>
void take(const std::string& bytes, std::size_t& at, std::vector<T>& values, std::int64_t count) {
  const std::size_t length = static_cast<std::size_t>(count) * sizeof(T);
  if (count < 0 || at > bytes.size() || length > bytes.size() - at) fail(ErrorCode::invalid_argument, "cannot read a structure: it is cut short");
  values.resize(static_cast<std::size_t>(count));
  std::memcpy(values.data(), bytes.data() + at, length);
  at += length;
}

sparse::Csr structure_of(const tune::Frame& asked) {
  sparse::Csr csr{.rows = asked.number("rows"), .cols = asked.number("cols")};
  std::size_t at = 0;
  take(asked.bytes, at, csr.row_offsets, csr.rows + 1);
  take(asked.bytes, at, csr.column_indices, asked.number("nonzeros"));
  return csr;
}

FieldMap fields_of(const tune::Frame& asked, const char* field) {
  auto parsed = parse_field_map(asked.text(field));
  if (!parsed) fail(ErrorCode::invalid_argument, "cannot read {}: \"{}\" is no list of fields", field, asked.text(field));
  return *std::move(parsed);
}

}  // namespace

void WorkerServer::take_problem(const tune::Frame& asked) {
  subject_.reset();
  Topology topology;
  if (asked.fields.contains("rows")) {
    const sparse::Csr csr = structure_of(asked);
    topology = Topology(std::make_shared<TopologyState>(planner_->session(), csr.view(), nullptr));
  }
  const TaskText text{.operation = asked.text("operation"),
                      .problem = fields_of(asked, "problem"),
                      .n = {asked.number("least"), asked.number("most"), asked.number("multiple")},
                      .policy = asked.text("policy") == name(Policy::cold) ? Policy::cold : Policy::warm};
  task_ = rebuilt_task(*planner_, text, topology, static_cast<std::uint64_t>(asked.number("seed")));
  subject_ = std::make_unique<RaceSubject>(*planner_->session(), task_, asked.number("workspace_bytes"));
}

tune::Frame WorkerServer::run(const tune::Candidate& candidate, double slow_us) {
  tune::Compiled compiled;
  try {
    compiled = subject_->compile(candidate);
  } catch (const std::exception& error) {
    return told("untested", error.what());
  }
  if (!compiled.screened.empty()) return told("screened", compiled.screened);
  const tune::TimedLaunches timed =
      tune::record_timed(planner_->session()->device(), compiled.timed ? compiled.timed : compiled.enqueue, subject_->rotation());
  std::vector<double> samples_us(samples);
  for (double& sample_us : samples_us) sample_us = timed.sample_us();
  const tune::Summary summary = tune::summarise(samples_us);
  const bool slow = summary.median_us > slow_us;
  if (!slow)
    if (auto wrong = subject_->verify(compiled)) return told("wrong", *std::move(wrong));
  tune::Frame passed = told(slow ? "slow" : "passed");
  passed.fields["code_digest"] = compiled.code_digest;
  passed.fields["median_us"] = fmt::format("{:.17g}", summary.median_us);
  passed.fields["spread_us"] = fmt::format("{:.17g}", summary.spread_us);
  passed.fields["rounds"] = std::to_string(samples);
  return passed;
}

tune::Frame WorkerServer::answer(const tune::Frame& asked) {
  const std::string verb = asked.text("verb");
  if (verb == "problem") {
    try {
      take_problem(asked);
      return told("ready");
    } catch (const std::exception& error) {
      return told("failed", error.what());
    }
  }
  if (verb != "candidate" || !subject_) return told("untested", fmt::format("the worker does not understand \"{}\" here", verb));
  const auto config = parse_field_map(asked.text("config"));
  const std::string family = asked.text("family");
  if (!config || ops::find_family(task_.query->operation, family) == nullptr)
    return told("untested", "the worker does not know its family or config");
  const std::string slow = asked.text("slow_us");
  const double slow_us = slow.empty() ? INFINITY : std::strtod(slow.c_str(), nullptr);
  try {
    return run({.family = family, .config = *config, .in_use = asked.number("must_run") != 0}, slow_us);
  } catch (const std::exception& error) {
    return told(tune::failure_status(error, "faulted"), error.what());
  }
}

void WorkerServer::serve() {
  tune::Frame asked;
  while (stream_.receive(asked) == State::done) {
    const tune::Frame given = answer(asked);
    if (stream_.send(given) != State::done || given.text("status") == "faulted") return;
  }
}

}  // namespace vostok::plan
