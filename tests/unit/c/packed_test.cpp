// Packed values in the caller's memory, and those that are loaded without a topology.
#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "unit/c/fixture.hpp"

using namespace vostok;
using test::check_refused;

namespace {

constexpr std::int64_t n = 4;

struct Lent {
  int released = 0;
  void* data = nullptr;
};

/// A plan of packed values, what it packed, and operands.
struct Stage {
  test::COfContext context = test::open();
  test::COfTopology topology = test::small_topology(context);
  test::COfPlan plan = test::plan_of(context, topology, persistent());
  alignas(256) std::array<float, 64> values{1, 2, 3};
  alignas(256) std::array<float, 64> dense{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  alignas(256) std::array<float, 64> output{};
  alignas(256) std::array<char, 1 << 14> memory{};
  Lent lent;

  static vostok_spmm persistent() {
    vostok_spmm problem = test::spmm_of(n);
    problem.value_lifetime = VOSTOK_VALUE_LIFETIME_PERSISTENT;
    return problem;
  }

  vostok_packed_memory lend(std::size_t offset = 0) {
    vostok_packed_memory given;
    vostok_packed_memory_init(&given, sizeof given);
    given.data = memory.data() + offset;
    given.bytes = static_cast<std::int64_t>(memory.size() - offset);
    given.user = &lent;
    given.release = [](void* data, void* user) {
      ++static_cast<Lent*>(user)->released;
      static_cast<Lent*>(user)->data = data;
    };
    return given;
  }

  test::COfPacked pack() const {
    return test::made<test::COfPacked>(
        [&](vostok_packed** out) { return vostok_plan_pack(plan.get(), nullptr, values.data(), out); });
  }

  test::COfBytes save(vostok_status (*how)(const vostok_packed*, vostok_bytes**)) const {
    const test::COfPacked packed = pack();
    return test::made<test::COfBytes>([&](vostok_bytes** out) { return how(packed.get(), out); });
  }

  /// [[1, 0, 2], [0, 3, 0]] times [[1 2 3 4], [5 6 7 8], [9 10 11 12]].
  void check_product(const vostok_plan* of, const test::COfPacked& packed) {
    output.fill(-1);
    vostok_spmm_arguments arguments = test::arguments_of(nullptr, dense.data(), output.data());
    arguments.packed = packed.get();
    const vostok_status status = vostok_execute_spmm(of, nullptr, &arguments);
    REQUIRE_MESSAGE(status == VOSTOK_OK, std::string(vostok_last_error()));
    const std::array<float, 2 * n> expected = {19, 22, 25, 28, 15, 18, 21, 24};
    CHECK(std::memcmp(output.data(), expected.data(), sizeof expected) == 0);
  }

  /// By a plan for the topology that was made of the saved structure.
  void check_alone(const test::COfPacked& packed) {
    const auto mask =
        test::made<test::COfTopology>([&](vostok_topology** out) { return vostok_packed_topology(packed.get(), out); });
    vostok_plan_options options;
    vostok_plan_options_init(&options, sizeof options);
    const std::string format = vostok_packed_format(packed.get());
    options.packed_format = format.c_str();
    const vostok_spmm problem = persistent();
    const auto planned = test::made<test::COfPlan>(
        [&](vostok_plan** out) { return vostok_plan_spmm(context.get(), mask.get(), &problem, &options, out); });
    check_product(planned.get(), packed);
  }
};

}  // namespace

TEST_CASE("values are packed into the caller's memory, which goes back with their last handle") {
  Stage stage;
  const vostok_packed_memory memory = stage.lend();
  test::COfPacked packed = test::made<test::COfPacked>([&](vostok_packed** out) {
    return vostok_plan_pack_into(stage.plan.get(), nullptr, stage.values.data(), &memory, out);
  });
  stage.check_product(stage.plan.get(), packed);
  CHECK(stage.lent.released == 0);
  packed.reset();
  CHECK(stage.lent.released == 1);
  CHECK(stage.lent.data == memory.data);
}

TEST_CASE("where nothing came to lie in it, memory stays the caller's") {
  Stage stage;
  vostok_packed* packed = nullptr;
  vostok_packed_memory memory = stage.lend(16);
  check_refused(vostok_plan_pack_into(stage.plan.get(), nullptr, stage.values.data(), &memory, &packed),
                VOSTOK_MISALIGNED_POINTER, "256");
  memory = stage.lend();
  memory.bytes = 1;
  check_refused(vostok_plan_pack_into(stage.plan.get(), nullptr, stage.values.data(), &memory, &packed),
                VOSTOK_INVALID_ARGUMENT, "");
  memory = stage.lend();
  check_refused(vostok_packed_adopt(stage.context.get(), "junk", 4, &memory, nullptr, &packed), VOSTOK_IO_FAILURE, "");
  check_refused(vostok_packed_adopt(stage.context.get(), nullptr, 0, nullptr, nullptr, &packed),
                VOSTOK_INVALID_ARGUMENT, "vostok_packed_memory");
  CHECK(packed == nullptr);
  CHECK(stage.lent.released == 0);
}

TEST_CASE("packed values are loaded without a topology, and read where they lie") {
  Stage stage;
  const test::COfBytes saved = stage.save(vostok_packed_save);
  const void* const data = vostok_bytes_data(saved.get());
  const std::size_t size = vostok_bytes_size(saved.get());
  REQUIRE(size <= stage.memory.size());
  stage.check_alone(test::made<test::COfPacked>(
      [&](vostok_packed** out) { return vostok_packed_load(stage.context.get(), nullptr, data, size, out); }));

  vostok_load_options options;
  vostok_load_options_init(&options, sizeof options);
  CHECK(options.keep == VOSTOK_KEEP_EVERYTHING);
  options.topology = stage.topology.get();
  const auto for_topology = test::made<test::COfPacked>(
      [&](vostok_packed** out) { return vostok_packed_load_with(stage.context.get(), data, size, &options, out); });
  stage.check_product(stage.plan.get(), for_topology);
  vostok_packed* none = nullptr;
  options.keep = 3;
  check_refused(vostok_packed_load_with(stage.context.get(), data, size, &options, &none), VOSTOK_INVALID_ARGUMENT,
                "keep = 3");

  std::memcpy(stage.memory.data(), data, size);
  vostok_packed_memory memory = stage.lend();
  memory.bytes = static_cast<std::int64_t>(size);
  stage.check_alone(test::made<test::COfPacked>([&](vostok_packed** out) {
    return vostok_packed_adopt(stage.context.get(), nullptr, 0, &memory, nullptr, out);
  }));
  CHECK(stage.lent.released == 1);

  const test::COfBytes head = stage.save(vostok_packed_save_head);
  const std::size_t head_size = vostok_bytes_size(head.get());
  std::memmove(stage.memory.data(), static_cast<const char*>(data) + head_size, size - head_size);
  memory = stage.lend();
  stage.check_alone(test::made<test::COfPacked>([&](vostok_packed** out) {
    return vostok_packed_adopt(stage.context.get(), vostok_bytes_data(head.get()), head_size, &memory, nullptr, out);
  }));
  CHECK(stage.lent.released == 2);
}
