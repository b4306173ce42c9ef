// Files of packed values that lie: sizes that they claim, things that are no files.
#include "plan/packed_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "plan/make_plan.hpp"
#include "plan/packed.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::contains;

namespace {

constexpr std::size_t prefix_bytes = 88, sizes_at = 12, digest_at = 24;

/// What a file of packed values consists of, with a digest that is right whatever it says.
struct Crafted {
  FieldMap description;
  std::string values;
  std::optional<std::uint32_t> description_bytes = {};  ///< what the prefix says; as it is
  std::optional<std::uint64_t> value_bytes = {};

  std::vector<std::byte> bytes() const {
    const std::string text = to_text(description);
    const auto first = description_bytes.value_or(static_cast<std::uint32_t>(text.size()));
    const auto second = value_bytes.value_or(values.size());
    const std::string digest = Digest().add(std::int64_t{1}).add(text).add(values).hex();
    std::string file(prefix_bytes, '\0');
    std::memcpy(file.data(), "VOSTOKPV\1\0\0\0", 12);
    std::memcpy(file.data() + sizes_at, &first, sizeof(first));
    std::memcpy(file.data() + sizes_at + sizeof(first), &second, sizeof(second));
    std::memcpy(file.data() + digest_at, digest.data(), digest.size());
    file += text + values;
    std::vector<std::byte> bytes(file.size());
    std::memcpy(bytes.data(), file.data(), file.size());
    return bytes;
  }
};

/// A topology on a device that notes the largest allocation, and a file for it.
struct Loading : test::Fixture {
  std::int64_t largest = 0;
  std::shared_ptr<plan::Session> session_made = session();
  std::shared_ptr<plan::Planner> planner = std::make_shared<plan::Planner>(session_made);
  Topology mask = topology(session_made, sparse::uniform(20, 30, 0.5, 51));
  std::string values = std::string(static_cast<std::size_t>(ops::persistent_value_stride(mask.nonzeros()) * 4), '\1');

  Loading() {
    device->on_allocate = [this](std::int64_t bytes) { largest = std::max(largest, bytes); };
    largest = 0;
  }
  Crafted good() const {
    return {.description = {{"format", "csr/f32"},
                            {"sets", "1"},
                            {"rows", std::to_string(mask.rows())},
                            {"cols", std::to_string(mask.cols())},
                            {"nonzeros", std::to_string(mask.nonzeros())},
                            {"structure", mask.state()->structure_digest()}},
            .values = values};
  }
  std::string refused(const Crafted& file) {
    largest = 0;
    std::string message;
    CHECK(code_of([&] { plan::load_packed(mask, file.bytes(), "weights.packed"); }, &message) == ErrorCode::io_failure);
    CHECK_MESSAGE(contains(message, "weights.packed"), message);
    CHECK(largest <= 4096);
    return message;
  }
};

}  // namespace

TEST_CASE("numbers of sets that a small file cannot hold are refused before anything is allocated for them") {
  Loading loading;
  CHECK(plan::load_packed(loading.mask, loading.good().bytes(), "memory").bytes() ==
        static_cast<std::int64_t>(loading.values.size()));
  for (const char* sets : {"1000000", "4611686018427387904", "9223372036854775807", "2", "0"}) {
    CAPTURE(sets);
    Crafted file = loading.good();
    file.description["sets"] = sets;
    CHECK(contains(loading.refused(file), fmt::format("{} sets", sets)));
    if (std::string_view(sets) == "0") continue;
    file.values.clear();
    CHECK(file.bytes().size() < 300);
    loading.refused(file);
  }
  for (const char* sets : {"-1", "", "1.5", "0x1", " 1", "1 ", "9223372036854775808", "one"}) {
    CAPTURE(sets);
    Crafted file = loading.good();
    file.description["sets"] = sets;
    loading.refused(file);
  }
}

TEST_CASE(
    "a file of version 1, in which there is no structure, is refused without a topology, and the message says so") {
  Loading loading;
  std::string message;
  CHECK(code_of([&] { plan::load_packed(loading.session_made, loading.good().bytes(), {}, "weights.packed"); },
                &message) == ErrorCode::io_failure);
  CHECK(contains(message, "weights.packed: no structure was saved with them (version 1), and no topology is given"));
}

TEST_CASE("sizes that a file's head claims are compared with its length") {
  Loading loading;
  const auto claims = [&](std::optional<std::uint32_t> description, std::optional<std::uint64_t> values) {
    Crafted file = loading.good();
    file.description_bytes = description;
    file.value_bytes = values;
    loading.refused(file);
  };
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 62, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}})
    claims({}, bytes);
  for (const std::uint32_t bytes : {0U, 1U, 5000U, std::numeric_limits<std::uint32_t>::max()}) claims(bytes, {});
  claims(std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<std::uint64_t>::max());
  // A format whose topology's part would be made first: there is no room for the values.
  Crafted file = loading.good();
  file.description["format"] = "strip16x64/pair/f16x3";
  file.values.clear();
  loading.refused(file);
}

TEST_CASE("a folder, a pipe, a device and a file that is missing are refused by name, without waiting") {
  Loading loading;
  const TemporaryFolder folder;
  const auto refused = [&](const std::filesystem::path& path) {
    std::string message;
    CHECK(code_of([&] { plan::load_packed(loading.mask, path); }, &message) == ErrorCode::io_failure);
    CHECK_MESSAGE(contains(message, path.string()), message);
    return message;
  };
  CHECK(contains(refused(folder.path()), "it is a folder"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(refused(folder / "pipe"), "no regular file"));
  CHECK(contains(refused("/dev/zero"), "no regular file"));
  CHECK(contains(refused(folder / "missing"), "No such file"));
  std::ofstream(folder / "empty").close();
  CHECK(contains(refused(folder / "empty"), "not saved"));
}

TEST_CASE("a file far longer than the topology's values is refused without being read") {
  Loading loading;
  const TemporaryFolder folder;
  constexpr std::int64_t hole = std::int64_t{1} << 40;
  Crafted head = loading.good();
  head.values.clear();
  const auto front = head.bytes().size();
  head.value_bytes = static_cast<std::uint64_t>(hole) - front;
  const std::vector<std::byte> bytes = head.bytes();
  std::ofstream(folder / "long", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (::truncate((folder / "long").c_str(), hole) != 0) {
    MESSAGE("skipped: no file here may have a hole of 1 TiB");
    return;
  }
  std::string message;
  CHECK(code_of([&] { plan::load_packed(loading.mask, folder / "long"); }, &message) == ErrorCode::io_failure);
  CHECK(contains(message, "1 sets of what their format has"));
}

TEST_CASE("memory that runs out while a file is loaded is an error that names the file") {
  Loading loading;
  const TemporaryFolder folder;
  const std::vector<std::byte> bytes = loading.good().bytes();
  std::ofstream(folder / "weights", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto refused = [&] {
    std::string message;
    CHECK(code_of([&] { plan::load_packed(loading.mask, folder / "weights"); }, &message) == ErrorCode::out_of_memory);
    CHECK_MESSAGE(contains(message, (folder / "weights").string()), message);
  };
  loading.device->on_allocate = [](std::int64_t bytes_asked) {
    fail(ErrorCode::out_of_memory, "cannot allocate {} bytes", bytes_asked);
  };
  refused();
  loading.device->on_allocate = [](std::int64_t) { throw std::bad_alloc(); };
  refused();
}

TEST_CASE("packed values of an empty batch are none, are saved and loaded") {
  Loading loading;
  const Spmm problem{.n = 8, .batch = 0, .values_per_batch = true, .value_lifetime = ValueLifetime::persistent};
  const SpmmPlan plan(plan::make_plan(*loading.planner, problem, loading.mask, {}));
  const PackedValues packed = plan.pack(nullptr, nullptr);
  CHECK(packed.bytes() == 0);
  CHECK(plan.packed_bytes() == 0);
  const PackedValues loaded = plan::load_packed(loading.mask, packed.save(), "memory");
  CHECK(loaded.bytes() == 0);
  plan.execute(nullptr, {.packed = loaded});
}
