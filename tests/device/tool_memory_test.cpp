// Arrays, copies and the CSR arrays that are read back, on every device.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include <vostok/tools.hpp>

#include "contains.hpp"
#include "device/devices.hpp"

using namespace vostok;
using test::code_of;
using test::contains;
using test::on_every_device;

namespace {

template <class T>
std::vector<T> to_host(const Context& context, const DeviceArray& array) {
  std::vector<T> values(static_cast<std::size_t>(array.bytes()) / sizeof(T));
  copy_to_host(context, values.data(), array.data(), array.bytes());
  return values;
}

template <class T>
DeviceArray to_device(const Context& context, const std::vector<T>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
  DeviceArray array = make_array(context, bytes);
  copy_to_device(context, array.data(), values.data(), bytes);
  return array;
}

/// The structure as its topology gives it back in indices of this type.
template <class Index>
void check_read(const Context& context, const Topology& topology, const sparse::Csr& csr) {
  const DeviceArray offsets = make_array(context, (csr.rows + 1) * std::int64_t{sizeof(Index)});
  const DeviceArray columns = make_array(context, csr.nonzeros() * std::int64_t{sizeof(Index)});
  read_csr(topology, static_cast<Index*>(offsets.data()), static_cast<Index*>(columns.data()),
           test::device_of(context).own_stream());
  test::device_of(context).synchronize(test::device_of(context).own_stream());
  CHECK(to_host<Index>(context, offsets) == std::vector<Index>(csr.row_offsets.begin(), csr.row_offsets.end()));
  CHECK(to_host<Index>(context, columns) == std::vector<Index>(csr.column_indices.begin(), csr.column_indices.end()));
}

std::string refusal(const std::function<void()>& call, ErrorCode code = ErrorCode::invalid_argument) {
  std::string message;
  CHECK(code_of(call, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("a topology's arrays are read back as they were given, in int32 and int64, whatever they are stored in") {
  on_every_device([](const Context& context) {
    for (const std::int64_t cols : {100, 70'000}) {  // column indices of 16 and of 32 bits
      CAPTURE(cols);
      const sparse::Csr csr = sparse::uniform(37, cols, 0.9, 5);
      const Topology topology = context.topology(csr.view());
      check_read<std::int32_t>(context, topology, csr);
      check_read<std::int64_t>(context, topology, csr);
    }
    const sparse::Csr empty{.rows = 3, .cols = 4, .row_offsets = {0, 0, 0, 0}, .column_indices = {}};
    check_read<std::int32_t>(context, context.topology(empty.view()), empty);
    const sparse::Csr no_rows{.rows = 0, .cols = 4, .row_offsets = {0}, .column_indices = {}};
    check_read<std::int64_t>(context, context.topology(no_rows.view()), no_rows);
  });
}

TEST_CASE("arrays are read back from a source that is there, into memory that is there") {
  on_every_device([](const Context& context) {
    const sparse::Csr csr = sparse::uniform(64, 64, 0.5, 5);
    const Topology topology = context.topology(csr.view());
    const DeviceArray memory = make_array(context, 1 << 15);
    auto* const indices = static_cast<std::int64_t*>(memory.data());
    CHECK(contains(refusal([&] { read_csr(topology, static_cast<std::int64_t*>(nullptr), indices); }),
                   "row_offsets is null"));
    CHECK(contains(refusal([&] { read_csr(topology, indices, static_cast<std::int64_t*>(nullptr)); }),
                   "column_indices is null"));
    {
      const Spmm problem{.n = 64, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
      const SpmmPlan plan = context.plan(problem, topology, {.family = "unpack_mma"});
      plan.packed_bytes();
      topology.release_source();
    }
    CHECK(contains(refusal([&] { read_csr(topology, indices, indices + 100); }), "release"));
  });
}

TEST_CASE("what is copied to an array comes back, and what cannot be copied is refused by name") {
  on_every_device([](const Context& context) {
    std::vector<std::uint8_t> bytes(1000);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    const DeviceArray array = to_device(context, bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(array.data()) % 256 == 0);
    CHECK(to_host<std::uint8_t>(context, array) == bytes);
    std::uint8_t one = 0;
    copy_to_host(context, &one, static_cast<std::uint8_t*>(array.data()) + 77, 1);
    CHECK(one == 77);

    copy_to_device(context, nullptr, nullptr, 0);
    copy_to_host(context, nullptr, nullptr, 0);
    CHECK_FALSE(static_cast<bool>(make_array(context, 0)));
    CHECK(contains(refusal([&] { make_array(context, -1); }), "bytes = -1"));
    CHECK(contains(refusal([&] { make_array(context, std::int64_t{1} << 60); }, ErrorCode::out_of_memory),
                   "1152921504606846976"));
    CHECK(contains(refusal([&] { copy_to_device(context, nullptr, bytes.data(), 1); }), "device is null"));
    CHECK(contains(refusal([&] { copy_to_device(context, array.data(), nullptr, 1); }), "host is null"));
    CHECK(contains(refusal([&] { copy_to_host(context, bytes.data(), array.data(), -1); }), "bytes = -1"));
  });
}

TEST_CASE("nothing is copied where a context was opened to compile only") {
  const Context context(Options{.device = "compile:emulator", .cache = {.enabled = false}});
  char byte = 0;
  CHECK(contains(refusal([&] { copy_to_host(context, &byte, &byte, 1); }, ErrorCode::no_device), "compile only"));
  CHECK(contains(refusal([&] { copy_to_device(context, &byte, &byte, 1); }, ErrorCode::no_device), "compile only"));
}
