#include "plan/worker_client.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/field_map.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "plan/task_text.hpp"
#include "plan/worker_options.hpp"

namespace vostok::plan {

namespace {

using State = tune::FrameStream::State;
using Clock = tune::FrameStream::Clock;

/// Opening the device, and making operands with their reference, may take this many times the time of a candidate.
constexpr double patience_factor = 10;

/// A worker ended by others says nothing about the candidate, so that another is started, once.
constexpr int attempts = 2;

template <class T>
void append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Nothing if the field is not a time.
std::optional<double> time_in(const tune::Frame& frame, const char* field) {
  const auto time = parse_number<double>(frame.text(field));
  return time && std::isfinite(*time) && *time >= 0 ? time : std::nullopt;
}

/// Characters quoted from an answer that makes no sense.
constexpr std::size_t most_told = 200;

/// Whether this status means that the candidate must not run here.
bool is_refusal(const std::string& status) {
  constexpr std::array refusals = {"untested", "screened", "wrong", "faulted"};
  return std::find(refusals.begin(), refusals.end(), status) != refusals.end();
}

}  // namespace

WorkerClient::WorkerClient(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed)
    : session_(session), task_(task), workspace_bytes_(workspace_bytes), seed_(seed) {}

tune::Frame WorkerClient::open_frame() const {
  const DeviceInfo& device = session_.device().info();
  tune::Frame frame{.fields = to_fields(session_.options(), device)};
  frame.fields.insert_or_assign("verb", "open");
  frame.fields.insert_or_assign("protocol", worker_protocol);
  frame.fields.insert_or_assign("version", library_version);
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

WorkerClient::Loss WorkerClient::loss_of(State state, const tune::WorkerPatience& patience, double seconds) {
  if (state == State::malformed)
    return {.status = "faulted", .reason = fmt::format("it speaks no frames: {}", process_->stream().why())};
  if (state == State::closed) {
    const tune::WorkerEnd end = process_->end();
    return {.status = end.of_code ? "faulted" : "", .reason = fmt::format("its process ended: {}", end.words)};
  }
  if (patience.worker_was_stopped()) return {.reason = fmt::format("its process was stopped for {:.3g} s", seconds)};
  return {.status = "hung", .reason = fmt::format("no answer within {:.3g} s", seconds)};
}

std::optional<WorkerClient::Loss> WorkerClient::converse(const std::optional<tune::Frame>& question,
                                                         tune::Frame& answer, double seconds) {
  tune::WorkerPatience patience = process_->patience(seconds);
  State state = question ? process_->stream().send(*question, patience) : State::done;
  if (state == State::done) state = process_->stream().receive(answer, patience);
  if (state == State::done) return std::nullopt;
  Loss loss = loss_of(state, patience, seconds);
  process_.reset();
  return loss;
}

std::optional<WorkerClient::Loss> WorkerClient::greet(const std::optional<tune::Frame>& question,
                                                      const char* right_status, double seconds) {
  tune::Frame answer;
  if (auto loss = converse(question, answer, seconds)) return loss;
  const std::string status = answer.text("status");
  if (status == right_status) return std::nullopt;
  process_.reset();
  return Loss{.status = "refused", .reason = fmt::format("it says \"{}\": {}", status, answer.text("reason"))};
}

std::optional<WorkerClient::Loss> WorkerClient::open_worker() {
  const double seconds = session_.options().worker.timeout_seconds;
  if (!(seconds > 0))
    return Loss{.status = "none",
                .reason = fmt::format("Options::worker.timeout_seconds = {} leaves it no time", seconds)};
  std::string why;
  const auto tool = tune::find_tool(session_.options().worker.tool, why);
  if (tool) process_ = tune::WorkerProcess::start(*tool, why);
  if (!process_) return Loss{.status = "none", .reason = why};
  // The tool says at once that it has started, so that another program of its name does not run for long.
  if (auto loss = greet(open_frame(), worker_started, seconds)) return loss;
  if (auto loss = greet(std::nullopt, "ready", patience_factor * seconds)) return loss;
  return greet(problem_frame(), "ready", patience_factor * seconds);
}

bool WorkerClient::start() {
  if (process_) return true;
  if (!unavailable_.empty()) return false;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::optional<Loss> loss = open_worker();
    if (!loss) return true;
    unavailable_ = loss->reason;
    if (!loss->status.empty()) break;
  }
  return false;
}

tune::Admission WorkerClient::admission_of(const tune::Frame& answer, const std::string& code_digest) {
  const std::string status = answer.text("status");
  // A process whose device has failed is useless from then on.
  if (status == "faulted") process_.reset();
  if (is_refusal(status)) return {.status = status, .reason = answer.text("reason")};
  const auto median_us = time_in(answer, "median_us"), spread_us = time_in(answer, "spread_us");
  if ((status != "passed" && status != "slow") || !median_us || !spread_us)
    return {
        .status = "untested",
        .reason = fmt::format("what the worker says makes no sense: {}", to_text(answer.fields).substr(0, most_told))};
  if (answer.text("code_digest") != code_digest)
    return {.status = "untested", .reason = "the worker's compiler made other code of it than this process's"};
  return {.verified = status == "passed",
          .measured = tune::Summary{.median_us = *median_us, .spread_us = *spread_us},
          .rounds = parse_number<int>(answer.text("rounds")).value_or(0)};
}

tune::Admission WorkerClient::ask(const tune::Candidate& candidate, const std::string& code_digest, double seconds,
                                  double slow_us) {
  const Clock::time_point asked = Clock::now();
  const double limit = session_.options().worker.timeout_seconds * (candidate.must_run() ? patience_factor : 1);
  const tune::Frame question{
      .fields = {{"verb", "candidate"},
                 {"family", candidate.family},
                 {"config", to_text(candidate.config.to_map())},
                 {"must_run", candidate.must_run() ? "1" : "0"},
                 {"slow_us", std::isfinite(slow_us) ? fmt::format("{:.17g}", slow_us) : std::string()}},
      .bytes = {}};
  std::string last_reason;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (!start())
      return {.status = "untested",
              .reason = fmt::format("it never passed verification, and there is no worker: {}", unavailable_)};
    const double left = seconds - std::chrono::duration<double>(Clock::now() - asked).count();
    if (left <= 0 && !candidate.must_run()) return {.status = "not_reached"};
    const bool budget_is_shorter = !candidate.must_run() && left < limit;
    tune::Frame answer;
    const std::optional<Loss> loss = converse(question, answer, budget_is_shorter ? left : limit);
    if (!loss) return admission_of(answer, code_digest);
    if (loss->status == "hung" && budget_is_shorter) return {.status = "not_reached"};
    if (!loss->status.empty()) return {.status = loss->status, .reason = loss->reason};
    last_reason = loss->reason;
  }
  return {.status = "untested",
          .reason = fmt::format("others ended its worker whenever it was tried: {}", last_reason)};
}

}  // namespace vostok::plan
