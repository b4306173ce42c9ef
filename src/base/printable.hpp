// Text of files on its way to people: nothing in it may move a cursor, change colours or hide what follows.
#pragma once

#include <string>
#include <string_view>

namespace vostok {

/// The same text with every byte that a terminal would obey, or not show, written as \n, \t or \xNN: control
/// characters, what is no UTF-8, and marks that turn the direction of writing or take no room. Everything else stays, a
/// backslash too.
std::string printable(std::string_view text);

/// The same for a text of several lines: line ends stay.
std::string printable_lines(std::string_view text);

}  // namespace vostok
