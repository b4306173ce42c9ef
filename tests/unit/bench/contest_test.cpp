#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "bench/harness/contest.hpp"
#include "bench/harness/rivals.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::bench {
namespace {

constexpr int rounds = 7;

/// Its "output" is an error that the runs leave.
class FakeCase : public tune::Case {
 public:
  double left_error = 0;
  std::string left_wrong = {};

  const void* arguments() const override { return nullptr; }
  void set_workspace(void*) override {}
  double flops() const override { return 1; }
  tune::Check verify(const std::function<void(Stream)>& enqueue) override {
    left_wrong.clear();
    enqueue(nullptr);
    tune::Check check{.error = left_error, .tolerance = 1e-6, .wrong = left_wrong};
    tune::hold_to_tolerance(check);
    return check;
  }
};

struct Fixture {
  test::FakeDevice device;
  FakeCase operands;

  PeerRun run(const std::string& peer, int us, double error, double tolerance = 0) {
    return {.peer = peer,
            .variant = std::to_string(us),
            .enqueue =
                [this, us, error](Stream) {
                  operands.left_error = error;
                  device.note(us);
                },
            .tolerance = tolerance};
  }
  std::vector<Measured> hold(const std::vector<PeerRun>& runs) {
    device.cost_us = [](int us) { return static_cast<double>(us); };
    return hold_contest(device, operands, runs, rounds);
  }
};

TEST_CASE("every run has a result, in order, and one that is wrong is timed but does not count") {
  Fixture f;
  const auto all = f.hold({f.run("", 10, 1e-7), f.run("a", 20, 1e-3), {.peer = "b", .failure = "not there"}});
  REQUIRE(all.size() == 3);
  CHECK(all[0].counts());
  CHECK(all[0].timed.timing->median_us == doctest::Approx(10));
  CHECK_FALSE(all[1].counts());
  CHECK(all[1].timed.timing->median_us == doctest::Approx(20));
  CHECK(measured_json(all[1])["wrong"] == "error 1.00e-03 is above the tolerance 1.00e-06");
  CHECK(all[2].timed.failure == "not there");
  CHECK(measured_json(all[2])["error"].is_null());
}

TEST_CASE("a run's own tolerance excuses its error up to there") {
  Fixture f;
  const auto all = f.hold({f.run("a", 10, 1e-4, 1e-3), f.run("b", 10, 1e-2, 1e-3), f.run("c", 10, 1e-4)});
  CHECK(all[0].counts());
  CHECK(measured_json(all[0])["tolerance"] == 1e-3);
  CHECK_FALSE(all[1].counts());
  CHECK_FALSE(all[2].counts());
}

TEST_CASE("a run's own tolerance excuses nothing but its error") {
  Fixture f;
  PeerRun run = f.run("a", 10, 1e-4, 1e-3);
  run.enqueue = [&f](Stream) {
    f.operands.left_error = 1e-4;
    f.operands.left_wrong = "element 3 of the output was not written";
    f.device.note(10);
  };
  const auto all = f.hold({run});
  CHECK_FALSE(all[0].counts());
  CHECK(measured_json(all[0])["wrong"] == "element 3 of the output was not written");
}

TEST_CASE("a run that throws while it is verified fails alone") {
  Fixture f;
  PeerRun broken = f.run("a", 10, 0);
  broken.enqueue = [](Stream) { fail(ErrorCode::unsupported, "cannot do this one"); };
  const auto all = f.hold({broken, f.run("", 10, 0)});
  CHECK(all[0].timed.failure == "cannot do this one");
  CHECK(all[1].counts());
}

TEST_CASE("what is timed is the run, what is verified is the run with its delivery") {
  Fixture f;
  PeerRun run = f.run("a", 10, 1.0);
  run.enqueue_and_deliver = [&f, enqueue = run.enqueue](Stream stream) {
    enqueue(stream);
    f.operands.left_error = 0;
  };
  const auto all = f.hold({run});
  CHECK(all[0].counts());
  CHECK(all[0].timed.timing->median_us == doctest::Approx(10));
}

TEST_CASE("rivals are each peer's fastest right way, then the baseline, then the better sparse peer") {
  Fixture f;
  const auto all = f.hold({f.run("", 10, 0), f.run("cusparse", 30, 0), f.run("cusparse", 20, 0),
                           f.run("cusparse", 5, 1.0), f.run("cublas_sgemm", 8, 0)});
  const auto rivals = find_rivals(all, {{"sputnik", 15.0}, {"cusparse", 12.0}});
  REQUIRE(rivals.size() == 5);
  CHECK(rivals[0].name == "cusparse");
  CHECK(rivals[0].us == doctest::Approx(20));
  CHECK(rivals[1].name == "cublas_sgemm");
  CHECK(rivals[3].name == "sputnik (baseline)");
  CHECK(rivals[4].name == better_sparse_peer);
  CHECK(rivals[4].us == doctest::Approx(15));
}

TEST_CASE("without cuSPARSE here its baseline stands in, and without any sparse peer there is no better one") {
  const auto rivals = find_rivals({}, {{"sputnik", 15.0}, {"cusparse", 12.0}});
  CHECK(rivals.back().name == better_sparse_peer);
  CHECK(rivals.back().us == 12.0);
  CHECK(find_rivals({}, {{"cublas_sgemm", 1.0}}).size() == 1);
}

}  // namespace
}  // namespace vostok::bench
