#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/read.hpp"
#include "sparse/text_file.hpp"

namespace vostok::sparse {
namespace {

static_assert(std::endian::native == std::endian::little, "npy data is read as it lies in the file");

/// What the file's header says (NumPy enhancement proposal 1), and where the data begins.
struct Array {
  std::string file;
  std::string_view type = {};  // "<f4"
  bool column_major = false;
  std::vector<std::int64_t> shape = {};
  std::string_view data = {};

  [[noreturn]] void refuse(ErrorCode code, const std::string& reason) const { fail(code, "cannot read {}: {}", file, reason); }
  [[noreturn]] void damaged(const std::string& reason) const { refuse(ErrorCode::invalid_topology, reason); }
};

/// The text behind 'key': in the header's dictionary.
std::string_view entry(const Array& array, std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  const std::size_t begin = colon == std::string_view::npos ? colon : header.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos) array.damaged(fmt::format("its header has no '{}'", key));
  return header.substr(begin);
}

std::string_view parse_type(const Array& array, std::string_view text) {
  const std::size_t end = text.front() == '\'' ? text.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) array.refuse(ErrorCode::unsupported, "its elements are records, not '<f2', '<f4' or '<f8'");
  return text.substr(1, end - 1);
}

bool parse_flag(const Array& array, std::string_view text) {
  if (text.starts_with("True")) return true;
  if (!text.starts_with("False")) array.damaged(fmt::format("fortran_order is '{}'", text.substr(0, 8)));
  return false;
}

std::vector<std::int64_t> parse_shape(const Array& array, std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.front() != '(' || end == std::string_view::npos) array.damaged(fmt::format("its shape is '{}'", text.substr(0, 40)));
  Scanner scanner(text.substr(1, end - 1), array.file);
  std::vector<std::int64_t> shape;
  while (!scanner.at_line_end()) {
    shape.push_back(scanner.integer("a size in the shape"));
    if (shape.back() < 0) array.damaged(fmt::format("its shape has a size of {}", shape.back()));
    if (!scanner.skip(',') && !scanner.at_line_end()) array.damaged(fmt::format("its shape is '{}'", text.substr(0, end + 1)));
  }
  return shape;
}

Array parse(std::string_view bytes, const std::string& file) {
  Array array{.file = file};
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.size() < 8 || !bytes.starts_with(magic)) array.damaged("it does not start like a NumPy array");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) array.refuse(ErrorCode::unsupported, fmt::format("NumPy format version {} is not read, only 1, 2 and 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) array.damaged("it ends inside its header");
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  bytes.remove_prefix(8 + length_bytes);
  if (bytes.size() < length) array.damaged(fmt::format("its header of {} bytes ends after {}", length, bytes.size()));
  const std::string_view header = bytes.substr(0, length);
  array.type = parse_type(array, entry(array, header, "descr"));
  array.column_major = parse_flag(array, entry(array, header, "fortran_order"));
  array.shape = parse_shape(array, entry(array, header, "shape"));
  array.data = bytes.substr(length);
  return array;
}

/// IEEE binary16.
struct Half {
  std::uint16_t bits;

  explicit operator double() const {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
  }
};

/// The elements in row-major order.
template <class Element>
std::vector<double> decode(const Array& array) {
  std::int64_t count = 1;
  for (const std::int64_t size : array.shape) count = checked_multiply(count, size, "an array's elements");
  const std::int64_t wanted_bytes = checked_multiply(count, static_cast<std::int64_t>(sizeof(Element)), "an array's bytes");
  const auto found_bytes = static_cast<std::int64_t>(array.data.size());
  if (found_bytes != wanted_bytes)
    array.damaged(fmt::format("{} elements of type {} take {} bytes, it has {}", count, array.type, wanted_bytes, found_bytes));

  const std::int64_t columns = array.shape.size() > 1 ? array.shape[1] : 1;
  const std::int64_t rows = columns > 0 ? count / columns : 0;
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = array.column_major ? i % columns * rows + i / columns : i;
    Element element;
    std::memcpy(&element, array.data.data() + at * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
    values[static_cast<std::size_t>(i)] = static_cast<double>(element);
  }
  return values;
}

std::vector<double> decode_any(const Array& array) {
  if (array.column_major && array.shape.size() > 2)
    array.refuse(ErrorCode::unsupported, fmt::format("{} dimensions in Fortran order are not read, only up to 2", array.shape.size()));
  if (array.type == "<f2") return decode<Half>(array);
  if (array.type == "<f4") return decode<float>(array);
  if (array.type == "<f8") return decode<double>(array);
  array.refuse(ErrorCode::unsupported, fmt::format("elements of type '{}' are not read, only '<f2', '<f4' and '<f8'", array.type));
}

/// Whether a matrix is meant: two dimensions, or the [O,I,1,1] of a 1x1 convolution.
bool is_matrix(const std::vector<std::int64_t>& shape) { return shape.size() == 2 || (shape.size() == 4 && shape[2] == 1 && shape[3] == 1); }

}  // namespace

DenseArray read_array(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path);
  const Array array = parse(bytes, path.string());
  return {.shape = array.shape, .values = decode_any(array)};
}

Csr read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path);
  Array array = parse(bytes, path.string());
  const auto& shape = array.shape;
  if (!is_matrix(shape)) {
    array.refuse(ErrorCode::unsupported, fmt::format("its {} dimensions{} are neither a matrix nor the [O,I,1,1] of a 1x1 convolution", shape.size(),
                                                     shape.size() == 4 ? fmt::format(" [{},{},{},{}]", shape[0], shape[1], shape[2], shape[3]) : ""));
  }
  array.shape.resize(2);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (shape[0] > most || shape[1] > most) array.damaged(fmt::format("the sizes {} x {} do not fit in 32 bits", shape[0], shape[1]));

  const std::vector<double> values = decode_any(array);
  Csr csr{.rows = shape[0], .cols = shape[1]};
  csr.row_offsets.reserve(static_cast<std::size_t>(csr.rows) + 1);
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    for (std::int64_t column = 0; column < csr.cols; ++column) {
      const double value = values[static_cast<std::size_t>(row * csr.cols + column)];
      if (value == 0) continue;
      csr.column_indices.push_back(static_cast<std::int32_t>(column));
      csr.values.push_back(value);
    }
    csr.row_offsets.push_back(csr.nonzeros());
  }
  csr.note = fmt::format("dense {}, {} zeros dropped", array.type, csr.rows * csr.cols - csr.nonzeros());
  return csr;
}

}  // namespace vostok::sparse
