#include "sparse/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "sparse/scanner.hpp"

namespace vostok::sparse {
namespace {

static_assert(std::endian::native == std::endian::little, "only what is marked as big-endian is swapped");

[[noreturn]] void damaged(const Source& source, const std::string& reason) {
  refuse(source, ErrorCode::invalid_topology, reason);
}

// --- Elements -------------------------------------------------------------------------------------------------------

/// IEEE binary16.
struct Half {
  std::uint16_t bits;

  explicit operator double() const {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31)
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
  }
};

/// The upper half of an f32.
struct Brain {
  std::uint16_t bits;

  explicit operator double() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// NumPy writes 0 and 1, and takes every other byte for true.
struct Flag {
  std::uint8_t bits;

  explicit operator double() const { return bits != 0 ? 1 : 0; }
};

template <class Element>
double decode(const char* bytes, bool swapped) {
  std::array<char, sizeof(Element)> stored;
  std::memcpy(stored.data(), bytes, sizeof(Element));
  if (swapped) std::reverse(stored.begin(), stored.end());
  return static_cast<double>(std::bit_cast<Element>(stored));
}

struct ElementType {
  std::string_view name;
  double (*decode)(const char* bytes, bool swapped);
};

/// V2 is what ml_dtypes' bfloat16 is saved as: NumPy calls types that are not its own "void".
constexpr std::array element_types = {
    ElementType{"b1", decode<Flag>},          ElementType{"i1", decode<std::int8_t>},
    ElementType{"i2", decode<std::int16_t>},  ElementType{"i4", decode<std::int32_t>},
    ElementType{"i8", decode<std::int64_t>},  ElementType{"u1", decode<std::uint8_t>},
    ElementType{"u2", decode<std::uint16_t>}, ElementType{"u4", decode<std::uint32_t>},
    ElementType{"u8", decode<std::uint64_t>}, ElementType{"f2", decode<Half>},
    ElementType{"f4", decode<float>},         ElementType{"f8", decode<double>},
    ElementType{"V2", decode<Brain>}};

// --- The header's dictionary ----------------------------------------------------------------------------------------

/// The text behind 'key':
std::string_view entry(const Source& source, std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  const std::size_t begin = colon == std::string_view::npos ? colon : header.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos) damaged(source, fmt::format("its header has no '{}'", key));
  return header.substr(begin);
}

bool parse_flag(const Source& source, std::string_view text) {
  if (text.starts_with("True")) return true;
  if (!text.starts_with("False")) damaged(source, fmt::format("fortran_order is '{}'", text.substr(0, 8)));
  return false;
}

std::vector<std::int64_t> parse_shape(const Source& source, std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.front() != '(' || end == std::string_view::npos)
    damaged(source, fmt::format("its shape is '{}'", text.substr(0, 40)));
  Scanner scanner(text.substr(1, end - 1), source.name);
  std::vector<std::int64_t> shape;
  while (!scanner.at_line_end()) {
    shape.push_back(scanner.integer("a size in the shape"));
    if (shape.back() < 0) damaged(source, fmt::format("its shape has a size of {}", shape.back()));
    if (!scanner.skip(',') && !scanner.at_line_end())
      damaged(source, fmt::format("its shape is '{}'", text.substr(0, std::min<std::size_t>(end + 1, 40))));
  }
  return shape;
}

/// The dictionary, which is taken off the front of `bytes`.
std::string_view take_header(const Source& source, std::string_view& bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.size() < 8 || !bytes.starts_with(magic)) damaged(source, "it does not start like a NumPy array");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    refuse(source, ErrorCode::unsupported,
           fmt::format("NumPy format version {} is not read, only 1, 2 and 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) damaged(source, "it ends inside its header");
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  bytes.remove_prefix(8 + length_bytes);
  if (bytes.size() < length) damaged(source, fmt::format("its header of {} bytes ends after {}", length, bytes.size()));
  const std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return header;
}

}  // namespace

NpyArray::NpyArray(const Source& source, NpyContent wanted) : data_(source.bytes) {
  const std::string_view header = take_header(source, data_);
  read_type(source, entry(source, header, "descr"), wanted);
  column_major_ = parse_flag(source, entry(source, header, "fortran_order"));
  shape_ = parse_shape(source, entry(source, header, "shape"));
  require_all_elements(source);
}

/// `described`: "'<f4'" and more: the byte order ('|': there is none), a letter and a size.
void NpyArray::read_type(const Source& source, std::string_view described, NpyContent wanted) {
  const std::size_t end = described.front() == '\'' ? described.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) refuse(source, ErrorCode::unsupported, "its elements are records, not numbers");
  type_ = described.substr(1, end - 1);
  std::string_view name = type_ == "bfloat16" ? "<V2" : std::string_view(type_);
  swapped_ = name.starts_with('>');
  if (name.find_first_of("<>|=") == 0) name.remove_prefix(1);
  const auto known = std::find_if(element_types.begin(), element_types.end(),
                                  [&](const ElementType& type) { return type.name == name; });
  const std::int64_t bytes = name.empty() ? -1 : parse_number<std::int64_t>(name.substr(1)).value_or(-1);
  const bool fits = wanted == NpyContent::text ? name.starts_with('S') && bytes >= 0 : known != element_types.end();
  if (!fits)
    refuse(
        source, ErrorCode::unsupported,
        fmt::format("elements of type '{}' are not read, only {}", type_.substr(0, 40),
                    wanted == NpyContent::text ? "text ('|S3')" : "bool, integers, f2, f4, f8 and bfloat16 ('<V2')"));
  kind_ = name.front();
  element_bytes_ = bytes;
  if (wanted == NpyContent::numbers) decode_ = known->decode;
}

std::string NpyArray::type_words() const { return kind_ == 'V' ? type_ + " (bfloat16)" : type_; }

void NpyArray::require_all_elements(const Source& source) {
  if (column_major_ && shape_.size() > 2)
    refuse(source, ErrorCode::unsupported,
           fmt::format("{} dimensions in Fortran order are not read, only up to 2", shape_.size()));
  std::int64_t wanted_bytes = 0;
  bool too_many = false;
  for (const std::int64_t size : shape_) too_many |= __builtin_mul_overflow(count_, size, &count_);
  if (__builtin_mul_overflow(count_, element_bytes_, &wanted_bytes) || too_many)
    damaged(source, "the sizes of its shape do not fit in 64 bits");
  const auto found_bytes = static_cast<std::int64_t>(data_.size());
  if (found_bytes != wanted_bytes)
    damaged(source,
            fmt::format("{} elements of type {} take {} bytes, it has {}", count_, type_, wanted_bytes, found_bytes));
}

double NpyArray::at(std::int64_t index) const {
  std::int64_t place = index;
  if (column_major_ && shape_.size() == 2) place = index % shape_[1] * shape_[0] + index / shape_[1];
  return decode_(data_.data() + place * element_bytes_, swapped_);
}

}  // namespace vostok::sparse
