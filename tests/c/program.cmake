# Programs in C. Where the shared library can be built, they are linked with it.
enable_language(C)
if(TARGET vostok_shared)
  set(c_library vostok_shared)
elseif(BUILD_SHARED_LIBS)
  set(c_library vostok)
else()
  set(c_library vostok_c)
endif()

# vostok_c_program(<name> <source>): compiled as strictly as the header promises.
function(vostok_c_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${c_library} m)
  target_compile_options(${name} PRIVATE -std=c99 -pedantic -Wall -Wextra -Werror)
  if(c_library STREQUAL "vostok_c")
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

# vostok_c_test(<name> <label> <program> <arguments>...): a test that is one program; what it says of skipped work is shown.
function(vostok_c_test name label)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/run_noted.sh ${ARGN})
  vostok_test_properties(${name} ${label} 300)
endfunction()
