// One array of NumPy's file format: a file of its own, or a member of an .npz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sparse/source.hpp"

namespace vostok::sparse {

enum class NpyContent { numbers, text };

/// What the header says (NumPy enhancement proposal 1), and the elements as they lie in the file.
class NpyArray {
 public:
  /// Errors: invalid_topology (damaged), unsupported (a version, or elements that are not what is wanted), naming the
  /// file.
  explicit NpyArray(const Source& source, NpyContent wanted = NpyContent::numbers);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  bool is_flag() const { return kind_ == 'b'; }  ///< each element is true or false
  bool is_integer() const { return kind_ == 'i' || kind_ == 'u'; }
  std::string type_words() const;  ///< "<f4", "<V2 (bfloat16)"

  double at(std::int64_t index) const;             ///< in row-major order, as near as a double comes to it; of numbers
  std::string_view text() const { return data_; }  ///< of text: the elements, one behind the other

 private:
  using Decode = double (*)(const char* bytes, bool swapped);

  void read_type(const Source& source, std::string_view described, NpyContent wanted);
  void require_all_elements(const Source& source);

  std::string type_ = {};
  char kind_ = 'f';  // 'V' is bf16
  std::int64_t element_bytes_ = 0;
  bool swapped_ = false;
  Decode decode_ = nullptr;
  bool column_major_ = false;
  std::vector<std::int64_t> shape_ = {};
  std::int64_t count_ = 1;
  std::string_view data_ = {};
};

}  // namespace vostok::sparse
