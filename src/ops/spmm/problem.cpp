#include "ops/spmm/problem.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace vostok::ops {

namespace {

constexpr bool lists_every_problem_field() {
  int listed = 0;
  Spmm problem{};
  problem_fields(problem, [&](const char*, const auto&, KeyRole) { ++listed; });
  return listed == codegen::field_count<Spmm>();
}
static_assert(lists_every_problem_field(), "problem_fields must name every member of Spmm");
static_assert(codegen::lists_every_field<Epilogue>(), "fields(Epilogue) must name every member");

[[noreturn]] void refuse(const char* field, const std::string& value, const char* supported) {
  fail(ErrorCode::unsupported, "cannot plan SpMM: {} = {} is not supported by this version ({})", field, value, supported);
}

template <class V>
void require_only(const char* field, V value, V supported) {
  if (value == supported) return;
  const std::string only = "only " + codegen::value_text(supported);
  refuse(field, codegen::value_text(value), only.c_str());
}

void require_supported(const Spmm& problem) {
  require_only("batch", problem.batch, std::int64_t{1});
  require_only("element", problem.element, Dtype::f32);
  require_only("output", problem.output.value_or(problem.element), Dtype::f32);
  if (problem.index == IndexType::u16) refuse("index", "u16", "only automatic and i32");
  require_only("sparse_transposed", problem.sparse_transposed, false);
  require_only("dense_layout", problem.dense_layout, Layout::row_major);
  require_only("output_layout", problem.output_layout, Layout::row_major);
  require_only("value_lifetime", problem.value_lifetime, ValueLifetime::per_call);
  const Epilogue& epilogue = problem.epilogue;
  require_only("epilogue.residual", epilogue.residual, false);
  require_only("epilogue.accumulate", epilogue.accumulate, false);
  if (epilogue.scale == Scale::device) refuse("epilogue.scale", "device", "only one and host");
  if (epilogue.activation != Activation::none && epilogue.activation != Activation::relu)
    refuse("epilogue.activation", name(epilogue.activation), "only none and relu");
}

template <class E>
void require_enumerator(const char* field, E value) {
  if (name(value) == nullptr) fail(ErrorCode::invalid_argument, "cannot plan SpMM: {} = {} is no enumerator", field, static_cast<int>(value));
}

void require_enumerators(const Spmm& problem) {
  problem_fields(problem, [](const char* field, const auto& value, KeyRole) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) require_enumerator(field, value);
  });
  require_enumerator("output", problem.output.value_or(problem.element));
  require_enumerator("epilogue.bias", problem.epilogue.bias);
  require_enumerator("epilogue.activation", problem.epilogue.activation);
  require_enumerator("epilogue.scale", problem.epilogue.scale);
}

void require_leading(const char* field, std::int64_t leading, std::int64_t n_most) {
  if (leading != 0 && leading < n_most)
    fail(ErrorCode::invalid_argument, "cannot plan SpMM: {} = {} is smaller than n = {} (0 means packed)", field, leading, n_most);
}

void require_addressable(const char* what, std::int64_t rows, std::int64_t leading, Dtype type) {
  checked_multiply(checked_multiply(rows, leading, what), size_of(type), what);
}

}  // namespace

void validate(const Spmm& problem, const TopologyStatistics& statistics) {
  require_enumerators(problem);
  if (problem.n < 0) fail(ErrorCode::invalid_argument, "cannot plan SpMM: n = {} is negative", problem.n);
  for (std::size_t i = 0; i < problem.n_values.size(); ++i)
    if (problem.n_values[i] < 1) fail(ErrorCode::invalid_argument, "cannot plan SpMM: n_values[{}] = {} is less than 1", i, problem.n_values[i]);
  if (problem.batch < 1) fail(ErrorCode::invalid_argument, "cannot plan SpMM: batch = {} is less than 1", problem.batch);
  const int alignment = problem.alignment_bytes;
  if (alignment < size_of(problem.element) || alignment > 16 || (alignment & (alignment - 1)) != 0)
    fail(ErrorCode::invalid_argument, "cannot plan SpMM: alignment_bytes = {} is not a power of two from {} to 16", alignment,
         size_of(problem.element));
  require_supported(problem);

  const std::int64_t n_most = largest_size(problem);
  require_leading("dense_leading", problem.dense_leading, n_most);
  require_leading("output_leading", problem.output_leading, n_most);
  require_addressable("the dense operand's bytes", statistics.cols, std::max(problem.dense_leading, n_most), problem.element);
  require_addressable("the output's bytes", statistics.rows, std::max(problem.output_leading, n_most), problem.output.value_or(problem.element));
}

Spmm resolve(const Spmm& problem, std::int64_t n) {
  Spmm resolved = problem;
  // A plan for several n keeps "packed" distinct from a fixed leading dimension that equals one of them.
  const bool one_n = problem.n_values.empty();
  resolved.n = n;
  resolved.n_values.clear();
  resolved.output = problem.output.value_or(problem.element);
  if (resolved.index == IndexType::automatic) resolved.index = IndexType::i32;
  if (one_n && resolved.dense_leading == n) resolved.dense_leading = 0;
  if (one_n && resolved.output_leading == n) resolved.output_leading = 0;
  return resolved;
}

std::string exact_key(const Spmm& resolved) {
  FieldMap map;
  problem_fields(resolved, [&](const char* field, const auto& value, KeyRole role) {
    using V = std::remove_cvref_t<decltype(value)>;
    if (role.left_out != nullptr) return;
    if constexpr (std::is_same_v<V, Epilogue>) {
      fields(value, [&](const char* inner, const auto& v) { map[std::string(field) + "." + inner] = codegen::value_text(v); });
    } else if constexpr (std::is_same_v<V, std::optional<Dtype>>) {
      map[field] = codegen::value_text(value.value_or(resolved.element));
    } else if constexpr (!std::is_same_v<V, std::vector<std::int64_t>>) {
      map[field] = codegen::value_text(value);
    }
  });
  return to_text(map);
}

std::int64_t largest_size(const Spmm& problem) {
  return problem.n_values.empty() ? problem.n : *std::max_element(problem.n_values.begin(), problem.n_values.end());
}

std::vector<SizeRange> size_ranges(const Spmm& problem) {
  if (problem.n_values.empty()) return problem.n == 0 ? std::vector<SizeRange>() : std::vector<SizeRange>{{problem.n, problem.n, 1}};
  std::vector<std::int64_t> sizes = problem.n_values;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<SizeRange> ranges;
  std::int64_t least = 1;
  for (const std::int64_t size : sizes) {
    const std::int64_t vector = 16 / size_of(problem.element);  // elements of the widest load
    const SizeRange aligned = {round_up(least, vector), size / vector * vector, vector};
    if (aligned.least <= aligned.most && least < size) ranges.push_back(aligned);
    ranges.push_back({least, size, 1});
    least = size + 1;
  }
  return ranges;
}

}  // namespace vostok::ops
