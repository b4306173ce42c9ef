// The tool's standard streams: whether they are there, what goes to them, and whether it arrived.
#pragma once

#include <string>
#include <string_view>

namespace vostok::cli {

/// Puts something that cannot be used in the place of each standard stream that the caller closed. Else the next file that
/// is opened would take its number, and a report would be written into a database.
void hold_standard_streams();

/// A report for people on stdout. What a terminal would obey, of a file or an argument, is written out (base/printable.hpp).
/// Errors: io_failure where stdout does not take it; what it buffers is tried at the end (output_failure).
void print(std::string_view text);

/// The same on stderr: of what accompanies a report while stdout holds one JSON object.
void print_aside(std::string_view text);

/// On stdout, of text that a program reads: byte for byte where stdout is no terminal.
void print_data(std::string_view text);

/// "vostok: SENTENCE" on stderr, printable.
void tell(std::string_view sentence);

/// Writes out what stdout still holds, before something on stderr that belongs behind it. Errors: io_failure.
void flush_output();

/// The same at the end of the tool. Why not all could be written; empty: it was.
std::string output_failure();

}  // namespace vostok::cli
