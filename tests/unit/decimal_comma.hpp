// A process in which the application has set a locale with a decimal comma and grouped thousands, in C and in C++.
#pragma once

#include <clocale>
#include <cstdlib>
#include <locale>
#include <string>

#include "base/temporary_folder.hpp"

namespace vostok::test {

/// While it lives, printf writes "1,5" and a stream "1.234,5".
class DecimalComma {
 public:
  DecimalComma() : c_before_(std::setlocale(LC_ALL, nullptr)), before_(std::locale()) {
    if (!set_c_locale("de_DE.UTF-8") && !set_c_locale("fr_FR.UTF-8")) make_c_locale();
    std::locale::global(std::locale(std::locale::classic(), new CommaNumbers));  // does not touch C's: it has no name
  }
  ~DecimalComma() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, c_before_.c_str());
    if (!folder_is_set_) return;
    if (folder_before_.empty()) ::unsetenv("LOCPATH");
    else ::setenv("LOCPATH", folder_before_.c_str(), 1);
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

  /// Whether C's functions have the comma too: false where no such locale is installed, and none can be made.
  bool in_c() const { return in_c_; }

 private:
  struct CommaNumbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  bool set_c_locale(const char* name) {
    in_c_ = std::setlocale(LC_ALL, name) != nullptr && *std::localeconv()->decimal_point == ',';
    return in_c_;
  }

  /// With the sources of locales that the C library comes with.
  void make_c_locale() {
    const std::string command =
        "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8").string() + "' > /dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return;
    const char* before = std::getenv("LOCPATH");
    if (before != nullptr) folder_before_ = before;
    folder_is_set_ = ::setenv("LOCPATH", folder_.path().c_str(), 1) == 0;
    set_c_locale("de_DE.UTF-8");
  }

  TemporaryFolder folder_;
  std::string folder_before_;
  bool folder_is_set_ = false;
  bool in_c_ = false;
  std::string c_before_;
  std::locale before_;
};

}  // namespace vostok::test
