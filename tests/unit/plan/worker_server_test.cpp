// What a worker answers where the device fails under a candidate: over a pair of sockets, with a device that does as
// told.
#include "plan/worker_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "base/field_map.hpp"
#include "ops/conv/problem.hpp"
#include "plan/candidates.hpp"
#include "plan/task_text.hpp"
#include "plan/worker_options.hpp"
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
      try {
        plan::WorkerServer(std::make_shared<plan::Planner>(session_), stream).serve();
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
      }
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
    return ask({.fields = {{"verb", "candidate"},
                           {"family", candidate.family},
                           {"config", to_text(candidate.config.to_map())},
                           {"must_run", "1"}},
                .bytes = {}});
  }
  tune::Frame ask(const tune::Frame& question) {
    tune::FrameStream stream(ends_[0], ends_[0]);
    tune::EndlessPatience patience;
    tune::Frame answer;
    stream.send(question);
    if (stream.receive(answer, patience) != tune::FrameStream::State::done) return {};
    return answer;
  }
  test::FakeDevice& device() { return *fixture_.device; }

 private:
  test::Fixture fixture_;
  std::shared_ptr<plan::Session> session_ = fixture_.session();
  std::shared_ptr<const ops::Query> query_ =
      ops::make_query(BiasActivation{.rows = 8, .columns = 16}, {}, {0, 0}, fixture_.device.get());
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

TEST_CASE("a problem whose sizes do not fit the bytes behind it is refused before any of them is used") {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max()),
                    past = "2305843009213693952";  // 2^61: times 8 is 0 in 64 bits
  const std::string two_rows(3 * sizeof(std::int64_t), '\0');
  struct Sizes {
    std::string rows, cols, nonzeros;
  };
  for (const Sizes& sizes :
       {Sizes{past, "4", "0"}, Sizes{most, "4", "0"}, Sizes{"2", "4", past}, Sizes{"2", "4", most},
        Sizes{"-1", "4", "0"}, Sizes{"2", "4", "-1"}, Sizes{"2", "4", "1"}, Sizes{"1", "4", "0"}, Sizes{"2", "x", "0"},
        Sizes{"2x", "4", "0"}, Sizes{"2", "-4", "0"}, Sizes{"1000000000", "4", "0"}}) {
    CAPTURE(sizes.rows);
    CAPTURE(sizes.nonzeros);
    Served worker;
    const tune::Frame answer = worker.ask(
        {.fields = {{"verb", "problem"}, {"rows", sizes.rows}, {"cols", sizes.cols}, {"nonzeros", sizes.nonzeros}},
         .bytes = two_rows});
    // Where fewer bytes are promised than came, it is no frame, and the worker has ended.
    CHECK((answer.text("status") == "failed" || answer.fields.empty()));
  }
}

TEST_CASE("a structure whose offsets or columns lead outside it is refused") {
  const auto bytes_of = [](std::vector<std::int64_t> offsets, std::vector<std::int32_t> columns) {
    std::string bytes(offsets.size() * sizeof(std::int64_t) + columns.size() * sizeof(std::int32_t), '\0');
    std::memcpy(bytes.data(), offsets.data(), offsets.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data() + offsets.size() * sizeof(std::int64_t), columns.data(),
                columns.size() * sizeof(std::int32_t));
    return bytes;
  };
  Served worker;
  for (const std::string& bytes : {bytes_of({0, 1, 1000000}, {0, 1}), bytes_of({0, -5, 2}, {0, 1}),
                                   bytes_of({0, 1, 2}, {0, 4}), bytes_of({0, 1, 2}, {0, -1})}) {
    const tune::Frame answer =
        worker.ask({.fields = {{"verb", "problem"}, {"rows", "2"}, {"cols", "4"}, {"nonzeros", "2"}}, .bytes = bytes});
    CHECK(answer.text("status") == "failed");
    CHECK(answer.text("reason").find("structure") != std::string::npos);
  }
}

TEST_CASE("options reach a worker whole, and numbers that are none are refused") {
  Options options{.max_workspace_bytes = (std::int64_t{1} << 53) + 1};
  options.cache.max_code_bytes = std::numeric_limits<std::int64_t>::max();
  options.cache.lock_timeout_ms = -7;
  options.cache.enabled = false;
  options.cache.read_only = {"/a folder/with = and %", "/second"};
  FieldMap fields = plan::to_fields(options, {});
  const Options taken = plan::options_from(*parse_field_map(to_text(fields)));
  CHECK(taken.max_workspace_bytes == options.max_workspace_bytes);
  CHECK(taken.cache.max_code_bytes == options.cache.max_code_bytes);
  CHECK(taken.cache.lock_timeout_ms == -7);
  CHECK_FALSE(taken.cache.enabled);
  CHECK(taken.cache.read_only == options.cache.read_only);
  for (const char* number : {"", "x", "1.5", "99999999999"}) {
    fields["cache.lock_timeout_ms"] = number;
    CHECK(test::code_of([&] { plan::options_from(fields); }) == ErrorCode::invalid_argument);
  }
}
