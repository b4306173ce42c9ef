# cmake -DSOURCE=<repository> -DOUTPUT=<header> -P commit.cmake: writes what `git describe` says, and touches the header only
# when that changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --tags --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "inline constexpr const char* built_from_commit = \"@commit@\";\n" @ONLY)
