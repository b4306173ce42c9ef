// What a worker answers where the device fails under a candidate: over a pair of sockets, with a device that does as told.
#include "plan/worker_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "base/field_map.hpp"
#include "ops/conv/problem.hpp"
#include "plan/candidates.hpp"
#include "plan/task_text.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// A worker in a thread of its own, which knows a problem.
class Served {
 public:
  Served() {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) == 0);
    worker_ = std::jthread([this] {
      tune::FrameStream stream(ends_[1], ends_[1]);
      plan::WorkerServer(std::make_shared<plan::Planner>(session_), stream).serve();
      shutdown(ends_[1], SHUT_RDWR);
    });
    const plan::TaskText text = plan::text_of(*query_);
    const tune::Frame answer = ask({.fields = {{"verb", "problem"},
                                               {"operation", text.operation},
                                               {"problem", to_text(text.problem)},
                                               {"policy", name(text.policy)},
                                               {"seed", "1"},
                                               {"workspace_bytes", "256"}},
                                    .bytes = {}});
    CAPTURE(answer.text("reason"));
    REQUIRE(answer.text("status") == "ready");
  }
  ~Served() {
    shutdown(ends_[0], SHUT_RDWR);
    worker_.join();
    for (const int end : ends_) close(end);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  /// No status where the worker has ended.
  tune::Frame ask_candidate() {
    const tune::Candidate candidate = plan::short_list(*query_, session_->max_workspace_bytes()).front();
    return ask(
        {.fields = {{"verb", "candidate"}, {"family", candidate.family}, {"config", to_text(candidate.config)}, {"must_run", "1"}}, .bytes = {}});
  }
  test::FakeDevice& device() { return *fixture_.device; }

 private:
  tune::Frame ask(const tune::Frame& question) {
    tune::FrameStream stream(ends_[0], ends_[0]);
    tune::Frame answer;
    stream.send(question);
    if (stream.receive(answer) != tune::FrameStream::State::done) return {};
    return answer;
  }

  test::Fixture fixture_;
  std::shared_ptr<plan::Session> session_ = fixture_.session();
  std::shared_ptr<const ops::Query> query_ = ops::make_query(BiasActivation{.rows = 8, .columns = 16}, {}, {0, 0}, fixture_.device.get());
  std::array<int, 2> ends_ = {-1, -1};
  std::jthread worker_;
};

}  // namespace

TEST_CASE("a worker whose device runs out of memory under a candidate leaves it untested, and goes on") {
  Served worker;
  worker.device().on_replay = [] { fail(ErrorCode::out_of_memory, "cannot instantiate a graph: 0 bytes are left"); };
  for (int i = 0; i < 2; ++i) {
    const tune::Frame answer = worker.ask_candidate();
    CHECK(answer.text("status") == "untested");
    CHECK(answer.text("reason") == "cannot instantiate a graph: 0 bytes are left");
  }
}

TEST_CASE("a worker whose device fails under a candidate says that it faulted, and ends") {
  Served worker;
  worker.device().on_replay = [] { fail(ErrorCode::device_failure, "cannot replay: an illegal memory access"); };
  CHECK(worker.ask_candidate().text("status") == "faulted");
  CHECK(worker.ask_candidate().fields.empty());
}
