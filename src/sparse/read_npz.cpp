#include <limits>
#include <optional>

#include "sparse/entries.hpp"
#include "sparse/npy.hpp"
#include "sparse/read.hpp"
#include "sparse/zip_file.hpp"

namespace vostok::sparse {
namespace {

/// An array of the archive and the bytes that it looks at.
class NpzMember {
 public:
  NpzMember(const Source& archive, const ZipFile& zip, const std::string& name, NpyContent wanted = NpyContent::numbers)
      : bytes_(zip.read(name, archive.memory_bytes)),
        source_{.bytes = bytes_, .name = archive.name + ": " + name, .memory_bytes = archive.memory_bytes},
        array_(source_, wanted) {}
  NpzMember(const NpzMember&) = delete;
  NpzMember& operator=(const NpzMember&) = delete;

  const NpyArray& array() const { return array_; }
  [[noreturn]] void damaged(const std::string& reason) const { refuse(source_, ErrorCode::invalid_topology, reason); }

  void require_count(std::int64_t count) const {
    if (array_.count() != count) damaged(fmt::format("it has {} elements, not {}", array_.count(), count));
  }
  /// An index, which must lie in [0, end).
  std::int64_t index(std::int64_t at, std::int64_t end) const {
    if (!array_.is_integer()) damaged(fmt::format("its elements are {}, no integers", array_.type_words()));
    const double value = array_.at(at);
    if (!(value >= 0 && value < static_cast<double>(end)))
      damaged(fmt::format("element {} is {}, outside [0, {})", at, value, end));
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string bytes_;
  Source source_;
  NpyArray array_;
};

/// How the members name the places: by row, by column, or one by one.
struct Layout {
  std::string format;  // as SciPy calls it
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

Layout read_layout(const Source& source, const ZipFile& zip) {
  if (!zip.has("format.npy"))
    refuse(source, ErrorCode::unsupported, "it has no format.npy: it is no sparse matrix of SciPy's save_npz");
  const NpzMember format(source, zip, "format.npy", NpyContent::text);
  const NpzMember shape(source, zip, "shape.npy");
  shape.require_count(2);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::string_view text = format.array().text();
  return {.format = std::string(text.substr(0, text.find('\0'))),
          .rows = shape.index(0, most + 1),
          .cols = shape.index(1, most + 1)};
}

/// Calls `place` with the major index and the position of each entry, from the member that says where each major
/// index's begin.
template <class Place>
void for_each_place(const NpzMember& begins, std::int64_t majors, std::int64_t count, const Place& place) {
  begins.require_count(majors + 1);
  std::int64_t begin = begins.index(0, 1);
  for (std::int64_t major = 0; major < majors; ++major) {
    const std::int64_t end = begins.index(major + 1, count + 1);
    if (end < begin) begins.damaged(fmt::format("it decreases from {} to {} at element {}", begin, end, major + 1));
    for (; begin < end; ++begin) place(major, begin);
  }
  if (begin != count) begins.damaged(fmt::format("it ends at {}, not at the {} indices", begin, count));
}

/// The rows and columns; the values follow.
void read_places(const Source& source, const ZipFile& zip, const Layout& layout, Entries& entries) {
  const auto add = [&](std::int64_t row, std::int64_t col) {
    entries.row.push_back(static_cast<std::int32_t>(row));
    entries.col.push_back(static_cast<std::int32_t>(col));
  };
  if (layout.format == "coo") {
    const NpzMember row(source, zip, "row.npy");
    const NpzMember col(source, zip, "col.npy");
    col.require_count(row.array().count());
    reserve(entries, row.array().count(), source);
    for (std::int64_t i = 0; i < row.array().count(); ++i) add(row.index(i, layout.rows), col.index(i, layout.cols));
    return;
  }
  const bool by_row = layout.format == "csr";
  if (!by_row && layout.format != "csc")
    refuse(source, ErrorCode::unsupported,
           fmt::format("SciPy's format '{}' is not read, only csr, csc and coo", layout.format.substr(0, 40)));
  const NpzMember indices(source, zip, "indices.npy");
  const std::int64_t count = indices.array().count();
  reserve(entries, count, source);
  for_each_place(NpzMember(source, zip, "indptr.npy"), by_row ? layout.rows : layout.cols, count,
                 [&](std::int64_t major, std::int64_t i) {
                   const std::int64_t minor = indices.index(i, by_row ? layout.cols : layout.rows);
                   add(by_row ? major : minor, by_row ? minor : major);
                 });
}

Csr from_npz(const Source& source) {
  const ZipFile zip(source);
  const Layout layout = read_layout(source, zip);
  Entries entries{.rows = layout.rows, .cols = layout.cols};
  read_places(source, zip, layout, entries);
  const NpzMember data(source, zip, "data.npy");
  data.require_count(static_cast<std::int64_t>(entries.row.size()));
  entries.valued = !data.array().is_flag();
  for (std::int64_t i = 0; entries.valued && i < data.array().count(); ++i) entries.value.push_back(data.array().at(i));
  Csr csr = compress(entries);
  csr.note =
      fmt::format("SciPy's {}, {}{}", layout.format, data.array().type_words(), entries.valued ? "" : ", a pattern");
  return csr;
}

}  // namespace

Csr parse_npz(const Source& source) {
  return read_named(source, [&] { return from_npz(source); });
}

}  // namespace vostok::sparse
