# cmake -DHEADER=vostok.h -DFOLDER=FOLDER -P generate.cmake: programs that are made from the header's text, so that none of its declarations is left
# out. FOLDER/layout.c prints the size of every structure and the offset of every field; FOLDER/nulls.c calls every function with nothing but 0.
file(READ ${HEADER} text)
string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")
string(REGEX REPLACE "#[^\n]*" "" text "${text}")
string(REPLACE ";" "@" text "${text}")  # semicolons would end the items of a list

set(lines)
string(REGEX MATCHALL "typedef struct vostok_[a-z0-9_]+ {[^}]*}" structures "${text}")
foreach(structure IN LISTS structures)
  string(REGEX REPLACE "typedef struct (vostok_[a-z0-9_]+) .*" "\\1" name "${structure}")
  string(APPEND lines "  printf(\"${name} %zu\\n\", sizeof(${name}))@\n")
  string(REGEX REPLACE "^[^{]*{" "" body "${structure}")
  string(REGEX MATCHALL "[^@]*@" fields "${body}")
  foreach(field IN LISTS fields)
    string(REGEX REPLACE ".*\\(\\*([a-z0-9_]+)\\)\\(.*" "\\1" field "${field}")  # a callback
    string(REGEX REPLACE ".*[ *]([a-z0-9_]+)[ \n]*@" "\\1" field "${field}")
    string(APPEND lines "  printf(\"  ${field} %zu\\n\", offsetof(${name}, ${field}))@\n")
  endforeach()
endforeach()
string(REPLACE "@" ";" lines "${lines}")
file(WRITE ${FOLDER}/layout.c "#include <stddef.h>\n#include <stdio.h>\n\n#include <vostok/vostok.h>\n\nint main(void) {\n${lines}  return 0;\n}\n")

set(lines)
string(REGEX MATCHALL "VOSTOK_API [^@]*@" functions "${text}")
foreach(function IN LISTS functions)
  string(REGEX REPLACE "VOSTOK_API [^(]*[ *](vostok_[a-z0-9_]+)\\(.*" "\\1" name "${function}")
  string(REGEX REPLACE "[^(]*\\(([^)]*)\\).*" "\\1" parameters "${function}")
  if(parameters STREQUAL "void")
    set(zeros "")
  else()
    string(REGEX REPLACE "[^,]+" "0" zeros "${parameters}")
  endif()
  if(function MATCHES "VOSTOK_API vostok_status ")
    string(APPEND lines "  refused(\"${name}\", ${name}(${zeros}))@\n")
  else()
    string(APPEND lines "  ${name}(${zeros})@\n")
  endif()
endforeach()
string(REPLACE "@" ";" lines "${lines}")
file(WRITE ${FOLDER}/nulls.c "#include <stdio.h>
#include <string.h>

#include <vostok/vostok.h>

static int wrong = 0;

static void refused(const char* name, vostok_status status) {
  const int is_refused = status == VOSTOK_INVALID_ARGUMENT && strstr(vostok_last_error(), \"NULL\") != NULL;
  if (!is_refused) fprintf(stderr, \"%s(0, ...) is %s: %s\\n\", name, vostok_status_name(status), vostok_last_error());
  wrong |= !is_refused;
}

int main(void) {\n${lines}  return wrong;\n}\n")
