#include "bench/harness/cubin.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace vostok::bench {

namespace {

[[noreturn]] void fail_reading(const std::string& reason) {
  fail(ErrorCode::invalid_argument, "cannot count instructions: {}", reason);
}

/// The bytes of a file, by checked offsets. Cubins are little-endian, as this machine is.
class Bytes {
 public:
  explicit Bytes(std::string_view all) : all_(all) {}

  std::string_view part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > all_.size() || size > all_.size() - offset)
      fail_reading(fmt::format("the cubin is cut short: bytes {} to {} of {}", offset, offset + size, all_.size()));
    return all_.substr(offset, size);
  }
  template <class T>
  T at(std::uint64_t offset) const {
    T value;
    part(offset, sizeof(T)).copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  /// The terminated text there.
  std::string_view text(std::uint64_t offset) const {
    const std::string_view rest = part(offset, all_.size() - std::min<std::uint64_t>(offset, all_.size()));
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view all_;
};

struct Section {
  std::uint32_t name = 0;  ///< an offset into the section of names
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Reads the table of sections, at the places of the ELF-64 format.
class Sections {
 public:
  explicit Sections(const Bytes& file)
      : file_(file), table_(file.at<std::uint64_t>(0x28)), entry_bytes_(file.at<std::uint16_t>(0x3a)) {}

  std::uint16_t count() const { return file_.at<std::uint16_t>(0x3c); }
  Section operator[](std::uint64_t index) const {
    const std::uint64_t entry = table_ + index * entry_bytes_;
    return {.name = file_.at<std::uint32_t>(entry),
            .offset = file_.at<std::uint64_t>(entry + 0x18),
            .size = file_.at<std::uint64_t>(entry + 0x20)};
  }
  Section names() const { return (*this)[file_.at<std::uint16_t>(0x3e)]; }

 private:
  const Bytes& file_;
  std::uint64_t table_;
  std::uint64_t entry_bytes_;
};

/// Every instruction since sm_70 has 16 bytes, and the low 12 bits say which it is.
std::int64_t instructions_in(const Bytes& code, std::uint64_t size) {
  constexpr std::uint64_t instruction_bytes = 16;
  constexpr unsigned code_mask = 0xfff, does_nothing = 0x918;
  std::int64_t count = 0;
  for (std::uint64_t offset = 0; offset < size; offset += instruction_bytes)
    if ((code.at<std::uint16_t>(offset) & code_mask) != does_nothing) ++count;
  return count;
}

}  // namespace

std::int64_t machine_instructions(std::string_view cubin) {
  using namespace std::string_view_literals;
  constexpr std::string_view elf_of_64_bits =
      "\x7f"
      "ELF\x02"sv;
  if (!cubin.starts_with(elf_of_64_bits)) fail_reading("it is no ELF of 64 bits");
  const Bytes file(cubin);
  const Sections sections(file);
  const Section names = sections.names();
  std::int64_t count = 0;
  for (std::uint16_t i = 0; i < sections.count(); ++i) {
    const Section section = sections[i];
    if (!file.text(names.offset + section.name).starts_with(".text.")) continue;
    count += instructions_in(Bytes(file.part(section.offset, section.size)), section.size);
  }
  if (count == 0) fail_reading("it holds no code of a GPU");
  return count;
}

}  // namespace vostok::bench
