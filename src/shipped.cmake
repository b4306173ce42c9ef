# The tuning.db that comes with the library, made from the texts that are kept and reviewed.
set(VOSTOK_SHIPPED_FOLDER ${PROJECT_SOURCE_DIR}/cache/shipped CACHE PATH "Folder of the *.tuning.txt that become share/vostok/tuning.db")
file(GLOB shipped_texts CONFIGURE_DEPENDS ${VOSTOK_SHIPPED_FOLDER}/*.tuning.txt)
if(NOT shipped_texts)
  return()
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(WARNING "no tuned choices are shipped: the tool that makes their database cannot run here (`vostok cache load` makes it, too)")
  return()
endif()

add_executable(vostok_make_database ${PROJECT_SOURCE_DIR}/cache/shipped/make_database.cpp)
target_link_libraries(vostok_make_database PRIVATE vostok_cache)
# Not in a folder share/vostok: what runs from the build folder shall not find it there, as tests and benchmarks say what they are served.
set(shipped_database ${PROJECT_BINARY_DIR}/shipped/tuning.db)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/shipped)
add_custom_command(
  OUTPUT ${shipped_database}
  COMMAND vostok_make_database ${shipped_database} ${shipped_texts}
  DEPENDS ${shipped_texts} vostok_make_database
  COMMENT "Making the shipped tuning.db"
  VERBATIM)
add_custom_target(vostok_shipped ALL DEPENDS ${shipped_database})

# Kernels, for those who want no compiler, or less of it, where they deploy. They take NVRTC and time, and are not in tests.
set(VOSTOK_SHIP_KERNELS OFF CACHE STRING "Kernels to compile into share/vostok/code.db (needs NVRTC): OFF, helpers (what all plans share) or choices (and all of the shipped choices)")
set_property(CACHE VOSTOK_SHIP_KERNELS PROPERTY STRINGS OFF helpers choices)
set(VOSTOK_SHIP_ARCHITECTURES sm_80,sm_86,sm_89,sm_90 CACHE STRING "Architectures whose helper kernels are shipped")
if(NOT VOSTOK_SHIP_KERNELS)
  return()
endif()
if(NOT VOSTOK_SHIP_KERNELS MATCHES "^(helpers|choices)$")
  message(FATAL_ERROR "VOSTOK_SHIP_KERNELS is '${VOSTOK_SHIP_KERNELS}', and must be OFF, helpers or choices")
endif()
if(NOT TARGET vostok_tool)
  message(FATAL_ERROR "VOSTOK_SHIP_KERNELS needs the tool, and VOSTOK_TOOL is off")
endif()

set(shipped_kernels ${PROJECT_BINARY_DIR}/shipped/code.db)
set(helper_problems ${PROJECT_SOURCE_DIR}/cache/shipped/helpers.problems.txt)
set(no_cache ${PROJECT_BINARY_DIR}/shipped/no-cache)
set(helper_kernels ${PROJECT_BINARY_DIR}/shipped/helpers.db)
add_custom_command(
  OUTPUT ${helper_kernels}
  COMMAND vostok_tool pack --arch ${VOSTOK_SHIP_ARCHITECTURES} --helpers --problems ${helper_problems} --cache ${no_cache} --out ${helper_kernels}
  DEPENDS ${helper_problems} vostok_tool
  COMMENT "Compiling the kernels that all plans share"
  VERBATIM)
set(shipped_parts ${helper_kernels})
if(VOSTOK_SHIP_KERNELS STREQUAL choices)
  set(likes)
  foreach(text ${shipped_texts})
    list(APPEND likes --like ${text})
  endforeach()
  set(choice_kernels ${PROJECT_BINARY_DIR}/shipped/choices.db)
  add_custom_command(
    OUTPUT ${choice_kernels}
    COMMAND vostok_tool pack ${likes} --cache ${no_cache} --out ${choice_kernels}
    DEPENDS ${shipped_texts} vostok_tool
    COMMENT "Compiling the kernels of the shipped choices"
    VERBATIM)
  list(APPEND shipped_parts ${choice_kernels})
endif()
add_custom_command(
  OUTPUT ${shipped_kernels}
  COMMAND vostok_tool cache merge ${shipped_parts} --out ${shipped_kernels}
  DEPENDS ${shipped_parts} vostok_tool
  COMMENT "Making the shipped code.db"
  VERBATIM)
add_custom_target(vostok_shipped_kernels ALL DEPENDS ${shipped_kernels})
