# What the library is made with. Targets are global, so that a project that adds this one as a subfolder can link it.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
if(VOSTOK_STATIC_EXECUTABLES)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Boost_USE_STATIC_LIBS ON)
endif()

find_package(Threads REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET GLOBAL libsodium)
find_package(fmt REQUIRED)
# Optional: without it .gz and .npz files are refused by name.
find_package(ZLIB)

# Debian ships no archive of fmt: without its shared library, src/base/fmt_static.cpp compiles fmt into ours.
if(VOSTOK_STATIC_EXECUTABLES)
  add_library(vostok_fmt INTERFACE)
  target_include_directories(vostok_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  set(VOSTOK_FMT vostok_fmt)
else()
  set(VOSTOK_FMT fmt::fmt)
endif()
