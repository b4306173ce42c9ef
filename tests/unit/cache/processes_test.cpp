// Several processes and threads on one cache: this executable starts itself again as a worker.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>  // NOLINT: kill
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "cache/database.hpp"
#include "unit/cache/fixture.hpp"
#include "unit/flushed_fork.hpp"
#include "unit/self_process.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

constexpr int processes = 8;
constexpr int keys = 6;

std::string key_of(int i) { return "key" + std::to_string(i); }

/// Stores and reads back on a cold cache, as a process of a parallel job does. 0: nothing failed.
int work_once(const std::filesystem::path& folder, int id) {
  Opening opening(in_folder(folder));
  for (int i = 0; i < keys; ++i) {
    if (!opening.code().find(key_of(i)))
      opening.code().put(sample_entry(key_of(i)), sample_image(3000 + static_cast<std::size_t>(i)));
    const auto image = opening.code().find(key_of(i));
    if (!image || !same_image(*image, sample_image(3000 + static_cast<std::size_t>(i)))) return 1;
    opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial(std::to_string(100 * id + i)));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner(std::to_string(id)));
    if (opening.tuning().find(sample_problem(), sample_device()).size() != 1) return 2;
  }
  return *opening.warnings == 0 ? 0 : 3;
}

/// Writes until it is killed: rows whose columns belong together.
[[noreturn]] void work_forever(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  for (int i = 0;; ++i) {
    auto winner = sample_winner(std::to_string(i));
    winner.code_digest = std::to_string(i);
    winner.rounds = i;
    opening.tuning().set_winner(sample_problem(), sample_device(), winner);
    opening.code().put(sample_entry(key_of(i % keys)), sample_image(1000 + 100 * static_cast<std::size_t>(i)));
    if (i == 0 && ::write(STDOUT_FILENO, "r", 1) != 1) std::_Exit(4);  // the first rows are published
  }
}

/// Becomes a worker before doctest starts, where the environment says so.
const bool is_test_process = [] {
  const char* role = std::getenv("VOSTOK_TEST_WORKER");
  const char* folder = std::getenv("VOSTOK_TEST_WORKER_FOLDER");
  if (role == nullptr || folder == nullptr) return true;
  if (std::string(role) == "forever") work_forever(folder);
  std::_Exit(work_once(folder, std::atoi(role)));
}();

/// Starts this executable as a worker, its standard output going to `output`.
pid_t start_worker(const std::string& role, const std::filesystem::path& folder, int output) {
  return test::start_self({"VOSTOK_TEST_WORKER=" + role, "VOSTOK_TEST_WORKER_FOLDER=" + folder.string()}, output);
}

std::string integrity(const std::filesystem::path& file) {
  Connection connection(file, Access::read_write, 20000);
  Statement check = connection.query("PRAGMA integrity_check");
  return check.step() ? check.text(0) : "no answer";
}

int open_descriptors_of(const std::string& name) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += std::filesystem::read_symlink(entry.path(), ignored).filename() == name;
  return count;
}

}  // namespace

TEST_CASE("eight processes on one cold cache: none fails, and no row is lost") {
  REQUIRE(is_test_process);
  const TemporaryFolder folder;
  std::vector<pid_t> workers;
  for (int id = 1; id <= processes; ++id)
    workers.push_back(start_worker(std::to_string(id), folder / "c", STDERR_FILENO));
  for (const pid_t worker : workers) CHECK(test::exit_status(worker) == 0);
  Opening after(in_folder(folder / "c"));
  CHECK(after.tuning().trials(sample_problem(), sample_device()).size() == processes * keys);
  for (int i = 0; i < keys; ++i) CHECK(after.code().find(key_of(i)).has_value());
  CHECK(after.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(*after.warnings == 0);
  CHECK(integrity(folder / "c" / "tuning.db") == "ok");
  CHECK(integrity(folder / "c" / "code.db") == "ok");
}

TEST_CASE("two hundred writers killed at any moment leave old or new rows, never part of one") {
  constexpr unsigned seed = 11;
  constexpr int rounds = 20;
  constexpr int writers = 10;  // at once, on the same files
  CAPTURE(seed);
  std::minstd_rand random(seed);
  const TemporaryFolder folder;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::vector<pid_t> workers;
    workers.reserve(writers);
    for (int i = 0; i < writers; ++i) workers.push_back(start_worker("forever", folder / "c", ends[1]));
    close(ends[1]);
    char ready = 0;
    CHECK(::read(ends[0], &ready, 1) == 1);
    for (const pid_t worker : workers) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
      kill(worker, SIGKILL);
      CHECK(test::exit_status(worker) == 1000 + SIGKILL);
    }
    close(ends[0]);
    Opening after(in_folder(folder / "c"));
    const auto found = after.tuning().find(sample_problem(), sample_device());
    REQUIRE(found.size() == 1);
    CHECK(found[0].winner.config.at("tile_rows") == found[0].winner.code_digest);
    CHECK(std::to_string(found[0].winner.rounds) == found[0].winner.code_digest);
    CHECK(after.code().find(key_of(0)).has_value());
    CHECK(*after.warnings == 0);
    CHECK(integrity(folder / "c" / "tuning.db") == "ok");
    CHECK(integrity(folder / "c" / "code.db") == "ok");
  }
}

TEST_CASE("a child process opens its own files, and parent and child go on") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  opening.tuning().set_winner(sample_problem(1), sample_device(), sample_winner());
  const int before = open_descriptors_of("tuning.db");
  REQUIRE(before == 1);
  std::fflush(nullptr);  // what is buffered is written once: ThreadSanitizer flushes at every end
  const pid_t child = test::flushed_fork();
  if (child == 0) {
    opening.tuning().set_winner(sample_problem(16), sample_device(), sample_winner());
    const bool own_handle = open_descriptors_of("tuning.db") == before + 1;
    const bool reads = opening.tuning().find(sample_problem(1), sample_device()).size() == 1;
    _exit(own_handle && reads && *opening.warnings == 0 ? 0 : 1);
  }
  opening.tuning().set_winner(sample_problem(256), sample_device(), sample_winner());
  CHECK(test::exit_status(child) == 0);
  opening.tuning().set_winner(sample_problem(4096), sample_device(), sample_winner());
  for (const std::int64_t n : {1, 16, 256, 4096})
    CHECK(opening.tuning().find(sample_problem(n), sample_device()).size() == 1);
  CHECK(open_descriptors_of("tuning.db") == before);
  CHECK(*opening.warnings == 0);
}

TEST_CASE("threads share one store") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&opening, id] {
      for (int i = 0; i < keys; ++i) {
        opening.code().put(sample_entry(key_of(i)), sample_image());
        opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial(std::to_string(100 * id + i)));
        opening.code().find(key_of(i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(opening.tuning().trials(sample_problem(), sample_device()).size() == 4 * keys);
  CHECK(*opening.warnings == 0);
}
