#include "plan/worker_client.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/field_map.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "plan/task_text.hpp"
#include "plan/worker_options.hpp"

namespace vostok::plan {

namespace {

using State = tune::FrameStream::State;
using Clock = tune::FrameStream::Clock;

/// A worker opens its device, and makes operands with their reference, in this many times what a candidate is given.
constexpr double patience = 10;

Clock::time_point deadline_in(double seconds) {
  constexpr double longest = 1e8;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, longest)));
}

State exchange(tune::WorkerProcess& process, const tune::Frame& frame, tune::Frame& answer, double seconds) {
  const Clock::time_point deadline = deadline_in(seconds);
  const State sent = process.stream().send(frame, deadline);
  return sent == State::done ? process.stream().receive(answer, deadline) : sent;
}

template <class T>
void append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

double real(const tune::Frame& frame, const char* field) { return std::strtod(frame.text(field).c_str(), nullptr); }

}  // namespace

WorkerClient::WorkerClient(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed)
    : session_(session), task_(task), workspace_bytes_(workspace_bytes), seed_(seed) {}

void WorkerClient::give_up(const std::string& reason) {
  unavailable_ = reason;
  process_.reset();
}

tune::Frame WorkerClient::open_frame() const {
  const DeviceInfo& device = session_.device().info();
  tune::Frame frame{.fields = to_fields(session_.options(), device)};
  frame.fields.insert_or_assign("verb", "open");
  frame.fields["protocol"] = worker_protocol;
  frame.fields["version"] = library_version;
  frame.fields["uuid"] = device.uuid;
  return frame;
}

tune::Frame WorkerClient::problem_frame() const {
  const ops::Query& query = *task_.query;
  const TaskText text = text_of(query);
  tune::Frame frame{.fields = {{"verb", "problem"},
                               {"operation", text.operation},
                               {"problem", to_text(text.problem)},
                               {"least", std::to_string(text.n.least)},
                               {"most", std::to_string(text.n.most)},
                               {"multiple", std::to_string(text.n.multiple)},
                               {"policy", name(text.policy)},
                               {"seed", std::to_string(static_cast<std::int64_t>(seed_))},
                               {"workspace_bytes", std::to_string(workspace_bytes_)}}};
  if (!task_.topology) return frame;
  const sparse::Csr csr = task_.topology.state()->host_copy();
  frame.fields["rows"] = std::to_string(csr.rows);
  frame.fields["cols"] = std::to_string(csr.cols);
  frame.fields["nonzeros"] = std::to_string(csr.nonzeros());
  append(frame.bytes, csr.row_offsets);
  append(frame.bytes, csr.column_indices);
  return frame;
}

bool WorkerClient::greet(const tune::Frame& frame, double seconds) {
  tune::Frame answer;
  const State state = exchange(*process_, frame, answer, seconds);
  if (state == State::done && answer.text("status") == "ready") return true;
  if (state == State::done) give_up(answer.text("reason"));
  else if (state == State::timed_out) give_up(fmt::format("it did not answer within {:.0f} s", seconds));
  else give_up(fmt::format("it ended: {}", process_->last_words()));
  return false;
}

bool WorkerClient::start() {
  if (process_) return true;
  if (!unavailable_.empty()) return false;
  std::string why;
  const auto tool = tune::find_tool(session_.options().worker.tool, why);
  if (tool) process_ = tune::WorkerProcess::start(*tool, why);
  if (!process_) {
    give_up(why);
    return false;
  }
  const double seconds = patience * session_.options().worker.timeout_seconds;
  return greet(open_frame(), seconds) && greet(problem_frame(), seconds);
}

tune::Admission WorkerClient::lost(State state, bool budget_ended_it, double seconds) {
  tune::Admission admission;
  if (state == State::timed_out) {
    admission.status = budget_ended_it ? "not_reached" : "hung";
    if (!budget_ended_it) admission.reason = fmt::format("no answer within {:.3g} s", seconds);
  } else {
    admission.status = "faulted";
    admission.reason = fmt::format("its process ended: {}", process_->last_words());
  }
  process_.reset();
  return admission;
}

tune::Admission WorkerClient::ask(const tune::Candidate& candidate, const std::string& code_digest, double seconds, double slow_us) {
  const Clock::time_point asked = Clock::now();
  if (!start()) return {.status = "untested", .reason = fmt::format("it never passed verification, and there is no worker: {}", unavailable_)};
  seconds -= std::chrono::duration<double>(Clock::now() - asked).count();
  if (seconds <= 0 && !candidate.must_run()) return {.status = "not_reached"};
  const double limit = session_.options().worker.timeout_seconds * (candidate.must_run() ? patience : 1);
  const bool budget_is_shorter = !candidate.must_run() && seconds < limit;
  const double wait = budget_is_shorter ? seconds : limit;
  tune::Frame answer;
  const tune::Frame question{.fields = {{"verb", "candidate"},
                                        {"family", candidate.family},
                                        {"config", to_text(candidate.config)},
                                        {"must_run", candidate.must_run() ? "1" : "0"},
                                        {"slow_us", std::isfinite(slow_us) ? fmt::format("{:.17g}", slow_us) : std::string()}},
                             .bytes = {}};
  const State state = exchange(*process_, question, answer, wait);
  if (state != State::done) return lost(state, budget_is_shorter, wait);

  const std::string status = answer.text("status");
  // A process whose device has failed is of no more use.
  if (status == "faulted") process_.reset();
  if (status != "passed" && status != "slow") return {.status = status, .reason = answer.text("reason")};
  if (answer.text("code_digest") != code_digest)
    return {.status = "untested", .reason = "the worker's compiler made other code of it than this process's"};
  return {.verified = status == "passed",
          .measured = tune::Summary{.median_us = real(answer, "median_us"), .spread_us = real(answer, "spread_us")},
          .rounds = static_cast<int>(answer.number("rounds"))};
}

}  // namespace vostok::plan
