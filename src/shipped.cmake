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
