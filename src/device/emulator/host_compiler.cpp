#include "device/emulator/host_compiler.hpp"

#include <charconv>
#include <chrono>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "device/emulator/child_process.hpp"
#include "device/emulator/sanitizer.hpp"
#include "device/emulator/translation_unit.hpp"

namespace vostok::device::emulator {
namespace {

/// "ccache g++" is two arguments.
std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// A program of the system, without a search of PATH.
std::string system_program(const std::string& name) {
  return name.find('/') == std::string::npos ? "/usr/bin/" + name : name;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

const char* sanitizer_name() { return sanitizer::address ? "address" : sanitizer::thread ? "thread" : "none"; }

/// On a GPU a fused multiply-add is one instruction. If the host has it too, it need not be a call.
bool host_has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

/// Flags that change the code. Most kernels take longer to compile than to run, and -O2 takes half as long again as
/// -O1; with that GCC wants to be told to fuse multiplications with additions, as GPUs do (expensive optimizations).
/// Kernels load vectors through casts (no strict aliasing); an exception of the emulator that cancels them passes
/// through their frames (unwind tables); and the loader must not merge them (hidden, no unique symbols). A misaligned
/// vector access is a fault on a GPU, so it traps here.
std::vector<std::string> code_flags(bool is_clang) {
  std::vector<std::string> flags = {"-std=c++20",
                                    "-O1",
                                    "-fPIC",
                                    "-fvisibility=hidden",
                                    "-fno-strict-aliasing",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fasynchronous-unwind-tables",
                                    "-ffp-contract=fast",
                                    "-fsanitize=alignment",
                                    "-Wno-unknown-pragmas"};
  if (is_clang) flags.insert(flags.end(), {"-fsanitize-trap=alignment"});
  else
    flags.insert(flags.end(), {"-fexpensive-optimizations", "-fsanitize-undefined-trap-on-error", "-fno-gnu-unique"});
  if (host_has_fma()) flags.emplace_back("-mfma");
  if (sanitizer::address) flags.insert(flags.end(), {"-fsanitize=address", "-fno-omit-frame-pointer", "-g1"});
  if (sanitizer::thread) flags.insert(flags.end(), {"-fsanitize=thread", "-g1"});
  return flags;
}

/// A kernel takes a second; a busy machine, a sanitizer and a slow disk may make that a hundred.
constexpr std::chrono::seconds usual_limit{300};
constexpr const char* limit_variable = "VOSTOK_CXX_TIMEOUT";

std::chrono::seconds time_limit() {
  const auto text = environment(limit_variable);
  if (!text) return usual_limit;
  constexpr int most = 1'000'000;
  int seconds = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, seconds);
  if (error != std::errc() || end != last || seconds < 1 || seconds > most)
    fail(ErrorCode::invalid_argument, "cannot compile for the emulator: {} is '{}', not seconds from 1 to {}",
         limit_variable, *text, most);
  return std::chrono::seconds(seconds);
}

class HostCompiler final : public Compiler {
 public:
  HostCompiler(std::string text, std::chrono::seconds limit, bool raised)
      : command_text_(std::move(text)), command_(split(command_text_)), limit_(limit), raised_(raised) {
    version_ = first_line(ask("--version"));
    machine_ = first_line(ask("-dumpmachine"));
    linker_ = first_line(ask("-print-prog-name=ld"));
    if (raised_) linker_ = system_program(linker_);
    for (const char* library : {"-print-libgcc-file-name", "-print-file-name=libm.so.6"})
      if (std::string path = first_line(ask(library)); path.starts_with('/')) libraries_.push_back(std::move(path));
    flags_ = code_flags(version_.find("clang") != std::string::npos);
  }

  std::string identity() const override {
    std::string text =
        fmt::format("{}, {}, sanitizer {}, shim {}", version_, machine_, sanitizer_name(), shim_digest());
    for (const std::string& flag : flags_) text += " " + flag;
    return text;
  }
  std::vector<std::string> options() const override { return flags_; }
  bool identity_in_key() const override { return true; }

  Image compile(const Source& source) const override {
    const MemoryFile object("vostok-kernel-object");
    {
      const MemoryFile text("vostok-kernel-text", translation_unit(source));
      std::vector<std::string> compile_command = command_;
      compile_command.insert(compile_command.end(), flags_.begin(), flags_.end());
      compile_command.insert(compile_command.end(), {"-pipe", "-c", "-x", "c++", "-", "-o", object.path()});
      check(run_child(
                {.command = compile_command, .limit = limit_, .input = &text, .shared = {&object}, .bare = raised_}),
            source, command_text_);
    }
    const MemoryFile library("vostok-kernel");
    // The compiler's driver would need a temporary folder to link; the linker does not.
    std::vector<std::string> link_command = {linker_,       "-shared", "--eh-frame-hdr", "-z",         "now", "-z",
                                             "noexecstack", "-o",      library.path(),   object.path()};
    link_command.insert(link_command.end(), libraries_.begin(), libraries_.end());
    check(run_child({.command = link_command, .limit = limit_, .shared = {&object, &library}, .bare = raised_}), source,
          linker_);

    Image image;
    image.binary = library.read();
    image.symbol = source.family.empty() ? "kernel" : source.family;
    if (!image.binary.starts_with("\177ELF"))
      fail(ErrorCode::compile_failed, "cannot compile {}: {} wrote no library", source.expression, linker_);
    return image;
  }

 private:
  std::string ask(const char* question) const {
    std::vector<std::string> command = command_;
    command.emplace_back(question);
    const ChildResult result = run_child({.command = command, .limit = limit_, .bare = raised_});
    if (result.timed_out)
      fail(ErrorCode::no_compiler, "cannot compile for the emulator: '{} {}' {}", command_text_, question,
           describe_time_out());
    if (!result.started || result.status != 0)
      fail(ErrorCode::no_compiler,
           "cannot compile for the emulator: '{} {}' {}; set VOSTOK_CXX or CXX to a C++20 compiler", command_text_,
           question,
           result.started ? fmt::format("ended with status {}", result.status)
                          : fmt::format("did not start ({})", std::strerror(result.status)));
    return result.log;
  }

  std::string describe_time_out() const {
    return fmt::format("had not ended after {} s and was killed ({} is the time-out in seconds)", limit_.count(),
                       limit_variable);
  }

  void check(const ChildResult& result, const Source& source, const std::string& program) const {
    if (result.timed_out)
      fail(ErrorCode::compile_failed, "cannot compile {}: {} {}", source.expression, program, describe_time_out());
    if (!result.started)
      fail(ErrorCode::no_compiler, "cannot compile {}: {} did not start ({})", source.expression, program,
           std::strerror(result.status));
    if (result.status != 0)
      fail(ErrorCode::compile_failed, "cannot compile {}: {} ended with status {}:\n{}", source.expression, program,
           result.status, first_errors(result.log));
  }

  /// The first lines that name an error, or the log's start if none does.
  static std::string first_errors(const std::string& log) {
    constexpr int most_lines = 8;
    std::istringstream stream(log);
    std::string errors;
    int count = 0;
    for (std::string line; count < most_lines && std::getline(stream, line);)
      if (line.find("error") != std::string::npos) {
        errors += line + "\n";
        ++count;
      }
    return errors.empty() ? log.substr(0, 2000) : errors;
  }

  std::string command_text_;
  std::vector<std::string> command_;
  std::chrono::seconds limit_;
  bool raised_;
  std::string version_;
  std::string machine_;
  std::string linker_;
  std::vector<std::string> libraries_;
  std::vector<std::string> flags_;
};

}  // namespace

std::string host_compiler_command(bool raised) {
  for (const char* variable : {"VOSTOK_CXX", "CXX"})
    if (auto value = trusted_environment(variable, raised); value && !split(*value).empty()) return *value;
  return raised ? system_program("c++") : "c++";
}

std::unique_ptr<const Compiler> open_host_compiler(bool raised) {
  return std::make_unique<HostCompiler>(host_compiler_command(raised), time_limit(), raised);
}

}  // namespace vostok::device::emulator
