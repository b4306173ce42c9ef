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

# Kernels of those choices, so that a GPU of the same model needs no compiler for them. They take NVRTC and minutes of time, and are not in tests.
option(VOSTOK_SHIP_KERNELS "Compile the kernels of the shipped choices into share/vostok/code.db (needs NVRTC)" OFF)
if(VOSTOK_SHIP_KERNELS)
  if(NOT TARGET vostok_tool)
    message(FATAL_ERROR "VOSTOK_SHIP_KERNELS needs the tool, and VOSTOK_TOOL is off")
  endif()
  set(shipped_kernels ${PROJECT_BINARY_DIR}/shipped/code.db)
  set(likes)
  foreach(text ${shipped_texts})
    list(APPEND likes --like ${text})
  endforeach()
  add_custom_command(
    OUTPUT ${shipped_kernels}
    COMMAND vostok_tool pack ${likes} --cache ${PROJECT_BINARY_DIR}/shipped/no-cache --out ${shipped_kernels}
    DEPENDS ${shipped_texts} vostok_tool
    COMMENT "Compiling the kernels of the shipped choices"
    VERBATIM)
  add_custom_target(vostok_shipped_kernels ALL DEPENDS ${shipped_kernels})
endif()
