// The tool's standard streams: whether they are open, what is written to them, and whether it arrived.
#pragma once

#include <string>
#include <string_view>

namespace vostok::cli {

/// Replaces each standard stream that the caller closed by one that cannot be used. Otherwise the next opened file
/// would get its number, and a report could be written into a database.
void hold_standard_streams();

/// Prints a report for people on stdout. Control characters in file content or arguments are escaped
/// (base/printable.hpp). Errors: io_failure if stdout refuses it; buffered text is written at the end (output_failure).
void print(std::string_view text);

/// As print, on stderr: for text beside a report while stdout holds one JSON object.
void print_aside(std::string_view text);

/// Prints text for programs on stdout, byte for byte unless stdout is a terminal.
void print_data(std::string_view text);

/// "vostok: SENTENCE" on stderr, printable.
void tell(std::string_view sentence);

/// Flushes stdout before something on stderr that belongs after it. Errors: io_failure.
void flush_output();

/// Flushes stdout at the end of the tool. Returns why not everything could be written; empty: everything was.
std::string output_failure();

}  // namespace vostok::cli
