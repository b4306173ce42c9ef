// Lines of words, quoted as a shell's: what problem files hold, so that a line can be pasted behind a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vostok {

/// The words of a line, which blanks separate. In a word: 'as it is'; "as it is, but for \" \\ \$ and \`"; $'with \n,
/// \t, \r, \\, \', \" and \xNN'; elsewhere a backslash takes what follows as it is. Errors: invalid_argument (a quote
/// that is not closed, a backslash at the end, another escape in $'').
std::vector<std::string> split_words(std::string_view line);

/// The word so that split_words, and a shell, give it back: one line, printable, whatever its bytes are.
std::string quoted_word(std::string_view word);

}  // namespace vostok
