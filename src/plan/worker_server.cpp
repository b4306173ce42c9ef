#include "plan/worker_server.hpp"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field_map.hpp"
#include "base/host_memory.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "plan/task_text.hpp"
#include "tune/failure_status.hpp"

namespace vostok::plan {

namespace {

using State = tune::FrameStream::State;

constexpr int samples = 3;

tune::Frame told(const char* status, std::string reason = {}) {
  return {.fields = {{"status", status}, {"reason", std::move(reason)}}, .bytes = {}};
}

/// A count that a frame names. Errors: invalid_argument.
std::int64_t count_of(const tune::Frame& asked, const char* field) {
  const auto count = parse_number<std::int64_t>(asked.text(field));
  if (!count || *count < 0)
    fail(ErrorCode::invalid_argument, "cannot read a problem: {} = \"{}\" is no count", field, asked.text(field));
  return *count;
}

/// The size of a structure with so many rows and nonzeros; nothing if it exceeds 64 bits.
std::optional<std::int64_t> structure_bytes(std::int64_t rows, std::int64_t nonzeros) {
  std::int64_t offsets = 0, columns = 0, all = 0;
  const bool past_64_bits = __builtin_add_overflow(rows, 1, &offsets) ||
                            __builtin_mul_overflow(offsets, std::int64_t{sizeof(std::int64_t)}, &offsets) ||
                            __builtin_mul_overflow(nonzeros, std::int64_t{sizeof(std::int32_t)}, &columns) ||
                            __builtin_add_overflow(offsets, columns, &all);
  return past_64_bits ? std::nullopt : std::optional(all);
}

/// The bytes that may follow a question: a structure, if this machine can hold it; other questions have none.
std::uint64_t bytes_behind(const tune::Frame& asked) {
  const auto rows = parse_number<std::int64_t>(asked.text("rows")),
             nonzeros = parse_number<std::int64_t>(asked.text("nonzeros"));
  if (!rows || !nonzeros || *rows < 0 || *nonzeros < 0) return 0;
  const auto bytes = structure_bytes(*rows, *nonzeros);
  const std::int64_t here = machine_memory_bytes();
  return bytes && *bytes <= here ? static_cast<std::uint64_t>(*bytes) : 0;
}

/// Takes the next `count` values, which must be there.
template <class T>
std::vector<T> take(std::string_view& bytes, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T));
  bytes.remove_prefix(values.size() * sizeof(T));
  return values;
}

sparse::Csr structure_of(const tune::Frame& asked) {
  sparse::Csr csr{.rows = count_of(asked, "rows"), .cols = count_of(asked, "cols")};
  const std::int64_t nonzeros = count_of(asked, "nonzeros");
  if (structure_bytes(csr.rows, nonzeros) != std::ssize(asked.bytes))
    fail(ErrorCode::invalid_argument, "cannot read a structure: {} bytes are not {} rows and {} nonzeros",
         asked.bytes.size(), csr.rows, nonzeros);
  std::string_view bytes = asked.bytes;
  csr.row_offsets = take<std::int64_t>(bytes, csr.rows + 1);
  csr.column_indices = take<std::int32_t>(bytes, nonzeros);
  sparse::validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "structure");
  return csr;
}

FieldMap fields_of(const tune::Frame& asked, const char* field) {
  auto parsed = parse_field_map(asked.text(field));
  if (!parsed)
    fail(ErrorCode::invalid_argument, "cannot read {}: \"{}\" is no list of fields", field, asked.text(field));
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
  const tune::TimedLaunches timed = tune::record_timed(
      planner_->session()->device(), compiled.timed ? compiled.timed : compiled.enqueue, subject_->rotation());
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
  if (verb != "candidate" || !subject_)
    return told("untested", fmt::format("the worker does not understand \"{}\" here", verb));
  const auto fields = parse_field_map(asked.text("config"));
  const std::string name = asked.text("family");
  const ops::Family* const family = ops::find_family(task_.query->operation, name);
  const auto config = fields && family != nullptr ? family->read(*fields) : std::nullopt;
  if (!config) return told("untested", "the worker does not know its family or config");
  const double slow_us = parse_number<double>(asked.text("slow_us")).value_or(INFINITY);
  try {
    return run({.family = name, .config = *config, .in_use = asked.number("must_run") != 0}, slow_us);
  } catch (const std::exception& error) {
    return told(tune::failure_status(error, "faulted"), error.what());
  }
}

void WorkerServer::serve() {
  tune::EndlessPatience patience;
  tune::Frame asked;
  State state = State::done;
  while ((state = stream_.receive(asked, patience, bytes_behind)) == State::done) {
    const tune::Frame given = answer(asked);
    if (stream_.send(given) != State::done || given.text("status") == "faulted") return;
  }
  if (state == State::malformed) fail(ErrorCode::invalid_argument, "cannot read a frame: {}", stream_.why());
}

}  // namespace vostok::plan
