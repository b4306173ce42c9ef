// Packed values without kernels: what packing, execute, saving and loading refuse, and when memory goes.
#include "plan/packed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "plan/make_plan.hpp"
#include "plan/packed_file.hpp"
#include "plan/packed_head.hpp"
#include "plan/topology_state.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;

namespace {

using test::contains;

constexpr std::uint64_t seed = 51;

/// Notes behind which streams memory was released.
class ReleasingDevice : public test::FakeDevice {
 public:
  std::map<void*, std::vector<Stream>> released;

  void release_behind(void* memory, const std::vector<Stream>& streams) noexcept override {
    released[memory] = streams;
    test::FakeDevice::release_behind(memory, streams);
  }
};

/// A plan whose values persist, of the exact family, and memory that stands for operands.
struct PackedFixture : test::Fixture {
  std::shared_ptr<ReleasingDevice> releasing = std::make_shared<ReleasingDevice>();
  std::shared_ptr<plan::Session> session_made;
  std::shared_ptr<plan::Planner> planner;
  alignas(16) float memory[1024] = {};

  PackedFixture() {
    device = releasing;
    session_made = session();
    planner = std::make_shared<plan::Planner>(session_made);
  }
  Topology matrix(std::uint64_t of_seed = seed) {
    return topology(session_made, sparse::uniform(20, 30, 0.5, of_seed));
  }
  static Spmm problem(ValueLifetime lifetime = ValueLifetime::persistent) {
    return {.n = 8, .math = Math::strict, .value_lifetime = lifetime};
  }
  SpmmPlan plan(const Spmm& of, const Topology& on) const { return SpmmPlan(plan::make_plan(*planner, of, on, {})); }
  static SpmmArguments call(const PackedValues& packed) {
    return {.packed = packed, .dense = test::no_memory(1), .output = test::no_memory(2)};
  }
};

/// Stored winners by n.
class WinnersByN : public test::ScriptedTuning {
 public:
  std::map<std::int64_t, plan::WinnerMatch> winners_of;

  std::vector<plan::WinnerMatch> matches_of(const plan::ProblemKey& problem) const override {
    const auto found = winners_of.find(problem.features.n);
    return found == winners_of.end() ? std::vector<plan::WinnerMatch>() : std::vector{found->second};
  }
};

/// The default config of a family for this n, as the winner of a race.
plan::WinnerMatch winner(const ops::Family& family, const ops::Query& query) {
  plan::WinnerMatch match;
  match.winner.family = family.name();
  match.winner.config = family.default_config(query).to_map();
  match.provenance = Provenance::tuned_here;
  return match;
}

/// Packed values that hold bytes of their own.
PackedValues filled(PackedFixture& fixture, const Topology& topology) {
  PackedValues packed = fixture.plan(PackedFixture::problem(), topology).pack(nullptr, fixture.memory);
  auto* const bytes = static_cast<unsigned char*>(packed.state()->memory());
  for (std::int64_t i = 0; i < packed.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 1);
  return packed;
}

std::string message_of(ErrorCode code, const std::function<void()>& call) {
  std::string message;
  CHECK(code_of(call, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("packed values know their format, their size and their topology") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const SpmmPlan plan = fixture.plan(PackedFixture::problem(), topology);
  CHECK(plan.packed_format() == "csr/f32");
  const PackedValues packed = plan.pack(nullptr, fixture.memory);
  CHECK(packed.format() == "csr/f32");
  CHECK(packed.bytes() == plan.packed_bytes());
  CHECK(packed.bytes() >= topology.nonzeros() * 4);
  CHECK(packed.topology().state() == topology.state());
  Spmm half = PackedFixture::problem();
  half.element = Dtype::f16;
  CHECK(fixture.plan(half, topology).packed_format() == "csr/f16");
  const SpmmPlan per_call = fixture.plan(PackedFixture::problem(ValueLifetime::per_call), topology);
  CHECK(per_call.packed_format().empty());
  CHECK(per_call.packed_bytes() == 0);
  CHECK(message_of(ErrorCode::invalid_argument, [] { PackedValues().format(); }).find("empty") != std::string::npos);
}

TEST_CASE("every name of a format is parsed to what it names, and nothing else is") {
  for (const char* const format : {"csr/f32", "csr/bf16", "strip16x64/pair/f16x1", "strip16x64/pair/f16x3/transposed",
                                   "runs32/gap8/bf16/transposed"}) {
    const auto kind = plan::PackedKind::parse(format);
    REQUIRE(kind);
    CHECK(kind->format() == format);
  }
  for (const char* const other :
       {"", "csr", "csr/f64", "csr/f32/transposed", "strip16x64/pair/f16x2", "runs32/gap5/f16", "/transposed"})
    CHECK_FALSE(plan::PackedKind::parse(other));
}

TEST_CASE("pack refuses a plan of other values, a capture, missing and misaligned values") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const SpmmPlan plan = fixture.plan(PackedFixture::problem(), topology);
  const SpmmPlan per_call = fixture.plan(PackedFixture::problem(ValueLifetime::per_call), topology);
  CHECK(contains(message_of(ErrorCode::invalid_argument, [&] { per_call.pack(nullptr, fixture.memory); }), "per_call"));
  CHECK(contains(message_of(ErrorCode::invalid_argument, [&] { plan.pack(nullptr, nullptr); }), "values"));
  CHECK(contains(message_of(ErrorCode::misaligned_pointer, [&] { plan.pack(nullptr, fixture.memory + 1); }), "values"));
  CHECK(message_of(ErrorCode::invalid_argument, [] { SpmmPlan().pack(nullptr, nullptr); }).find("empty") !=
        std::string::npos);
  fixture.device->capturing = true;
  CHECK(code_of([&] { plan.pack(nullptr, fixture.memory); }) == ErrorCode::capture_active);
}

TEST_CASE("a pointer that is not aligned gets a hint only where a declaration would help") {
  PackedFixture fixture;
  const SpmmPlan plan = fixture.plan(PackedFixture::problem(), fixture.matrix());
  auto* const start = reinterpret_cast<std::byte*>(fixture.memory);
  const auto message = [&](int bytes) {
    return message_of(ErrorCode::misaligned_pointer, [&] { plan.pack(nullptr, start + bytes); });
  };
  CHECK(contains(message(4), "aligned to 4 bytes, and must be to 16; or declare alignment_bytes = 4"));
  CHECK(contains(message(8), "declare alignment_bytes = 8"));
  for (const int bytes : {1, 2, 6}) {  // an f32 may not be declared to lie there
    CAPTURE(bytes);
    CHECK_FALSE(contains(message(bytes), "declare"));
  }
}

TEST_CASE(
    "execute takes packed values where they persist and values where they do not, and names what it was not given") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const SpmmPlan plan = fixture.plan(PackedFixture::problem(), topology);
  const PackedValues packed = plan.pack(nullptr, fixture.memory);
  plan.execute(nullptr, fixture.call(packed));
  CHECK(contains(message_of(ErrorCode::invalid_argument, [&] { plan.execute(nullptr, fixture.call({})); }), "packed"));
  SpmmArguments both = fixture.call(packed);
  both.values = fixture.memory;
  CHECK(contains(message_of(ErrorCode::invalid_argument, [&] { plan.execute(nullptr, both); }), ".values is given"));
  const SpmmPlan per_call = fixture.plan(PackedFixture::problem(ValueLifetime::per_call), topology);
  CHECK(contains(message_of(ErrorCode::invalid_argument, [&] { per_call.execute(nullptr, fixture.call(packed)); }),
                 ".packed is given"));
}

TEST_CASE("packed values of another topology, format or number of sets are a format mismatch") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const SpmmPlan plan = fixture.plan(PackedFixture::problem(), topology);
  const auto refused = [&](const PackedValues& packed) {
    return message_of(ErrorCode::format_mismatch, [&] { plan.execute(nullptr, fixture.call(packed)); });
  };
  CHECK(contains(refused(fixture.plan(PackedFixture::problem(), fixture.matrix()).pack(nullptr, fixture.memory)),
                 "another topology"));
  Spmm half = PackedFixture::problem();
  half.element = Dtype::f16;
  CHECK(contains(refused(fixture.plan(half, topology).pack(nullptr, fixture.memory)), "csr/f16"));
  Spmm batch = PackedFixture::problem();
  batch.batch = 3;
  batch.values_per_batch = true;
  CHECK(contains(refused(fixture.plan(batch, topology).pack(nullptr, fixture.memory)), "3 set(s)"));
  // Another plan with the same format takes them, and so does one for another n.
  const PackedValues packed = plan.pack(nullptr, fixture.memory);
  Spmm wider = PackedFixture::problem();
  wider.n = 32;
  fixture.plan(wider, topology).execute(nullptr, fixture.call(packed));
  // The plan for a new mask wants the new mask's.
  const SpmmPlan rebound = plan.rebind(fixture.matrix(seed + 1));
  CHECK(code_of([&] { rebound.execute(nullptr, fixture.call(packed)); }) == ErrorCode::format_mismatch);
}

TEST_CASE(
    "the memory of packed values is released behind every stream that executed with them, and keeps its topology until "
    "then") {
  PackedFixture fixture;
  auto* const stream = reinterpret_cast<Stream>(std::uintptr_t{0x1000});
  void* memory = nullptr;
  {
    PackedValues packed;
    {
      const SpmmPlan plan = fixture.plan(PackedFixture::problem(), fixture.matrix());
      packed = plan.pack(nullptr, fixture.memory);
      plan.execute(stream, fixture.call(packed));
    }
    memory = packed.state()->memory();
    CHECK(fixture.releasing->released.count(memory) == 0);
    CHECK(packed.topology().nonzeros() > 0);
    const PackedValues copy = packed;
  }
  REQUIRE(fixture.releasing->released.count(memory) == 1);
  const std::vector<Stream>& streams = fixture.releasing->released[memory];
  CHECK(std::find(streams.begin(), streams.end(), stream) != streams.end());
}

TEST_CASE("saved values are loaded for a topology of the same structure, byte for byte, from memory and from a file") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const PackedValues packed = filled(fixture, topology);
  const std::vector<std::byte> saved = packed.save();
  CHECK(packed.save() == saved);
  const Topology twin = fixture.matrix();
  const PackedValues loaded = plan::load_packed(twin, saved, "memory");
  CHECK(loaded.format() == packed.format());
  CHECK(loaded.topology().state() == twin.state());
  CHECK(std::memcmp(loaded.memory(), packed.memory(), static_cast<std::size_t>(topology.nonzeros()) * 4) == 0);
  CHECK(loaded.save() == saved);
  fixture.plan(PackedFixture::problem(), twin).execute(nullptr, fixture.call(loaded));

  const TemporaryFolder folder;
  packed.save(folder / "weights.packed");
  CHECK(plan::load_packed(twin, folder / "weights.packed").save() == saved);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK(code_of([&] { packed.save(folder / "no" / "such" / "folder"); }) == ErrorCode::io_failure);
  CHECK(contains(message_of(ErrorCode::io_failure, [&] { plan::load_packed(twin, folder / "missing"); }),
                 "missing: No such file"));
}

TEST_CASE("saved values of another structure are a format mismatch that names what differs") {
  PackedFixture fixture;
  const std::vector<std::byte> saved = filled(fixture, fixture.matrix()).save();
  const auto refused = [&](const sparse::Csr& csr) {
    return message_of(ErrorCode::format_mismatch,
                      [&] { plan::load_packed(test::Fixture::topology(fixture.session_made, csr), saved, "memory"); });
  };
  CHECK(contains(refused(sparse::uniform(20, 30, 0.5, seed + 1)), "structure"));
  CHECK(contains(refused(sparse::uniform(30, 20, 0.5, seed)), "cols"));
  CHECK(contains(refused(sparse::uniform(20, 30, 0.25, seed)), "nonzeros"));
}

TEST_CASE(
    "saved values that were cut short, damaged, lengthened or written by a newer version are refused, at every place") {
  PackedFixture fixture;
  const Topology topology = fixture.matrix();
  const std::vector<std::byte> saved = filled(fixture, topology).save();
  const auto refused = [&](const std::vector<std::byte>& bytes) {
    return message_of(ErrorCode::io_failure, [&] { plan::load_packed(topology, bytes, "weights.packed"); });
  };
  for (std::size_t length = 0; length < saved.size(); length += 1 + length / 16)
    CHECK(contains(refused({saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(length)}), "weights.packed"));
  for (std::size_t place = 0; place < saved.size(); place += 1 + place / 64) {
    std::vector<std::byte> damaged = saved;
    damaged[place] ^= std::byte{0x10};
    refused(damaged);
  }
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  CHECK(contains(refused(longer), "longer"));
  std::vector<std::byte> newer = saved;
  newer[8] = std::byte{3};
  CHECK(contains(refused(newer), "version 3"));
  CHECK(contains(refused(std::vector<std::byte>(200, std::byte{'x'})), "not saved"));
}

TEST_CASE(
    "saved values that stand alone are refused where they were cut short, damaged or lengthened, at every place") {
  PackedFixture fixture;
  const std::vector<std::byte> saved = filled(fixture, fixture.matrix()).save();
  const auto load = [&](const std::vector<std::byte>& bytes) {
    return plan::load_packed(fixture.session_made, bytes, {}, "weights.packed");
  };
  const auto refused = [&](const std::vector<std::byte>& bytes) {
    CHECK(contains(message_of(ErrorCode::io_failure, [&] { load(bytes); }), "weights.packed"));
  };
  CHECK(load(saved).save() == saved);
  for (std::size_t length = 0; length < saved.size(); length += 1 + length / 16)
    refused({saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(length)});
  for (std::size_t place = 0; place < saved.size(); place += 1 + place / 128) {
    std::vector<std::byte> damaged = saved;
    damaged[place] ^= std::byte{0x10};
    refused(damaged);
  }
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  refused(longer);
}

TEST_CASE("the structure of a file is the one that its description names, and no other is made") {
  PackedFixture fixture;
  const sparse::Csr csr = sparse::uniform(20, 30, 0.5, seed), other = sparse::uniform(20, 30, 0.5, seed + 1);
  const std::vector<std::byte> values(
      static_cast<std::size_t>(fixture.plan(PackedFixture::problem(), fixture.matrix()).packed_bytes()));
  FieldMap description = {{"format", "csr/f32"},
                          {"sets", "1"},
                          {"rows", "20"},
                          {"cols", "30"},
                          {"nonzeros", std::to_string(csr.nonzeros())},
                          {"structure", plan::digest_of_structure(csr)}};
  const auto load = [&](const sparse::CodedStructure& structure) {
    std::vector<std::byte> bytes = plan::write_head(description, structure, values);
    bytes.insert(bytes.end(), values.begin(), values.end());
    return plan::load_packed(fixture.session_made, bytes, {}, "weights.packed");
  };
  CHECK(load(sparse::code_structure(csr)).topology().nonzeros() == csr.nonzeros());
  const auto refused = [&](const sparse::CodedStructure& structure) {
    return message_of(ErrorCode::io_failure, [&] { load(structure); });
  };
  REQUIRE(other.nonzeros() == csr.nonzeros());
  CHECK(contains(refused(sparse::code_structure(other)), "not the one described"));
  sparse::CodedStructure coded = sparse::code_structure(csr);
  coded.bytes.pop_back();
  CHECK(contains(refused(coded), "not one of the sizes"));
  coded.coding = "words";
  CHECK(contains(refused(coded), "does not know the coding \"words\""));
  for (const auto& [field, value] :
       FieldMap{{"rows", "2147483646"}, {"nonzeros", "1000000000000"}, {"cols", "-1"}, {"rows", ""}}) {
    const std::string right = std::exchange(description[field], value);
    CHECK(contains(refused(sparse::code_structure(csr)), "not one of the sizes"));
    description[field] = right;
  }
  description["format"] = "strip16x64/pair/f16x1/transposed";
  description["cols"] = "2147483646";
  description["structure"] = plan::digest_of_structure(
      {.rows = 20, .cols = 2147483646, .row_offsets = csr.row_offsets, .column_indices = csr.column_indices});
  sparse::Csr wide = csr;
  wide.cols = 2147483646;
  CHECK(contains(refused(sparse::code_structure(wide)), "2147483646 columns are more than"));
}

TEST_CASE("a plan of several n reads one format: that in which all n together lose least") {
  PackedFixture fixture;
  const auto winners = std::make_shared<WinnersByN>();
  fixture.tuning = winners;
  const ops::Family& reads_csr = *ops::find_family("spmm", "row_tile");
  const ops::Family& reads_strips = *ops::find_family("spmm", "unpack_wgmma");

  const auto format = [&](Dtype element, std::int64_t size, const ops::Family& of_16, const ops::Family& of_64) {
    const Spmm problem{.n_values = {16, 64}, .element = element, .value_lifetime = ValueLifetime::persistent};
    const sparse::Csr csr = sparse::uniform(size, size, 0.5, seed);
    fixture.session_made = fixture.session();  // nothing is remembered
    fixture.planner = std::make_shared<plan::Planner>(fixture.session_made);
    const Topology topology = test::Fixture::topology(fixture.session_made, csr);
    // Configs for every n of their range suit its multiples of a vector too.
    const auto stored = [&](const ops::Family& family, const ops::SizeRange& n) {
      const auto query = ops::make_query(problem, topology.statistics(), n, fixture.device.get());
      REQUIRE_FALSE(family.declines(*query));
      return winner(family, *query);
    };
    winners->winners_of = {{16, stored(of_16, {1, 16})}, {64, stored(of_64, {17, 64})}};
    const SpmmPlan plan = fixture.plan(problem, topology);
    std::set<std::string> all;
    for (const plan::Choice& choice : plan.state()->choices)
      all.insert(choice.decision->family->packed_format(*choice.query, choice.decision->config));
    REQUIRE(all.size() == 1);
    CHECK(plan.packed_format() == (all.begin()->empty() ? fmt::format("csr/{}", name(element)) : *all.begin()));
    return plan.packed_format();
  };
  // Where both read the same, there is nothing to choose.
  CHECK(format(Dtype::f32, 256, reads_strips, reads_strips) == "strip16x64/whole/f16x3/marked");
  // A small f32 product loses least from CSR, a large one of f16 from strips, whether the largest n or the other would
  // read it.
  CHECK(format(Dtype::f32, 256, reads_csr, reads_strips) == "csr/f32");
  CHECK(format(Dtype::f32, 256, reads_strips, reads_csr) == "csr/f32");
  CHECK(format(Dtype::f16, 2048, reads_csr, reads_strips) == "strip16x64/whole/f16x1");
  CHECK(format(Dtype::f16, 2048, reads_strips, reads_csr) == "strip16x64/whole/f16x1");
}
