// The enumerations that problems, kernels and cache keys share. Include-free: this text is compiled
// by the host compiler (as <vostok/enums.hpp>), by NVRTC and by the emulator.
//
// Every enumeration has a `name(value)`: the enumerator as it is spelt in code. It returns nullptr one
// past the last enumerator, so that tools can list and parse an enumeration without a second table.
#pragma once

namespace vostok {

/// Element type of a matrix.
enum class Dtype : unsigned char { f32, f16, bf16 };

/// Type of the stored column indices. `automatic` is resolved by the topology and never reaches a kernel.
enum class IndexType : unsigned char { automatic, u16, i32 };

/// Layout of a dense matrix [rows, columns].
enum class Layout : unsigned char { row_major, column_major };

/// Bias added to the product: one value per row (m values) or per column (n values).
enum class Bias : unsigned char { none, per_row, per_column };

/// Activation applied last.
enum class Activation : unsigned char { none, relu, gelu, gelu_tanh, silu };

/// Factor of the product: absent, passed by value, or read from device memory.
enum class Scale : unsigned char { one, host, device };

/// How products may be computed (design: "strict", "accurate", "tf32").
enum class Math : unsigned char { strict, accurate, tf32 };

/// Both mean the same, and the same kernels serve both: elements that the mask lacks never touch what other operands
/// hold there, NaN and infinities included (src/README.md, "Accuracy").
enum class NonFinite : unsigned char { dense, sparse };

/// Whether sparse values change from call to call or are packed once.
enum class ValueLifetime : unsigned char { per_call, persistent };

/// What a softmax does with the log-sum-exp of each row: nothing, write it, or read it instead of reducing the row.
enum class RowStatistics : unsigned char { none, write, read };

/// What attention's forward pass leaves for the backward pass. `none`: the backward pass computes everything again.
enum class Saved : unsigned char { none, probabilities, row_statistics };

constexpr const char* name(Dtype value) {
  switch (value) {
    case Dtype::f32: return "f32";
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
  }
  return nullptr;
}

constexpr const char* name(IndexType value) {
  switch (value) {
    case IndexType::automatic: return "automatic";
    case IndexType::u16: return "u16";
    case IndexType::i32: return "i32";
  }
  return nullptr;
}

constexpr const char* name(Layout value) {
  switch (value) {
    case Layout::row_major: return "row_major";
    case Layout::column_major: return "column_major";
  }
  return nullptr;
}

constexpr const char* name(Bias value) {
  switch (value) {
    case Bias::none: return "none";
    case Bias::per_row: return "per_row";
    case Bias::per_column: return "per_column";
  }
  return nullptr;
}

constexpr const char* name(Activation value) {
  switch (value) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::silu: return "silu";
  }
  return nullptr;
}

constexpr const char* name(Scale value) {
  switch (value) {
    case Scale::one: return "one";
    case Scale::host: return "host";
    case Scale::device: return "device";
  }
  return nullptr;
}

constexpr const char* name(Math value) {
  switch (value) {
    case Math::strict: return "strict";
    case Math::accurate: return "accurate";
    case Math::tf32: return "tf32";
  }
  return nullptr;
}

constexpr const char* name(NonFinite value) {
  switch (value) {
    case NonFinite::dense: return "dense";
    case NonFinite::sparse: return "sparse";
  }
  return nullptr;
}

constexpr const char* name(ValueLifetime value) {
  switch (value) {
    case ValueLifetime::per_call: return "per_call";
    case ValueLifetime::persistent: return "persistent";
  }
  return nullptr;
}

constexpr const char* name(RowStatistics value) {
  switch (value) {
    case RowStatistics::none: return "none";
    case RowStatistics::write: return "write";
    case RowStatistics::read: return "read";
  }
  return nullptr;
}

constexpr const char* name(Saved value) {
  switch (value) {
    case Saved::none: return "none";
    case Saved::probabilities: return "probabilities";
    case Saved::row_statistics: return "row_statistics";
  }
  return nullptr;
}

/// The enumeration's own name, for code generation.
constexpr const char* type_name(Dtype) { return "Dtype"; }
constexpr const char* type_name(IndexType) { return "IndexType"; }
constexpr const char* type_name(Layout) { return "Layout"; }
constexpr const char* type_name(Bias) { return "Bias"; }
constexpr const char* type_name(Activation) { return "Activation"; }
constexpr const char* type_name(Scale) { return "Scale"; }
constexpr const char* type_name(Math) { return "Math"; }
constexpr const char* type_name(NonFinite) { return "NonFinite"; }
constexpr const char* type_name(ValueLifetime) { return "ValueLifetime"; }
constexpr const char* type_name(RowStatistics) { return "RowStatistics"; }
constexpr const char* type_name(Saved) { return "Saved"; }

/// Bytes of one element.
constexpr int size_of(Dtype value) { return value == Dtype::f32 ? 4 : 2; }

}  // namespace vostok
