# A build by pip: what it needs is told in one line, and kernels that all plans share are compiled where there is an NVRTC.
set(needed
    libfmt-dev:fmt/core.h
    libsqlite3-dev:sqlite3.h
    libsodium-dev:sodium.h
    libboost-context-dev:boost/context/fiber.hpp
    libcli11-dev:CLI/CLI.hpp
    nlohmann-json3-dev:nlohmann/json.hpp)
set(missing)
foreach(entry ${needed})
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 package)
  list(GET entry 1 header)
  find_path(header_folder ${header} NO_CACHE)
  if(NOT header_folder)
    list(APPEND missing ${package})
  endif()
  unset(header_folder)
endforeach()
find_program(pkg_config NAMES pkg-config pkgconf NO_CACHE)
if(NOT pkg_config)
  list(APPEND missing pkg-config)
endif()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "vostok cannot be built: these packages are missing (Debian's names): apt-get install ${missing}")
endif()

# VOSTOK_SHIP_KERNELS decides where it is given (pip install . -C cmake.define.VOSTOK_SHIP_KERNELS=OFF).
if(NOT DEFINED VOSTOK_SHIP_KERNELS)
  set(folders $ENV{VOSTOK_NVRTC} $ENV{CUDA_HOME} $ENV{CUDA_PATH} $ENV{VIRTUAL_ENV})
  file(GLOB toolkits /usr/local/cuda /usr/local/cuda-*)
  set(patterns)
  foreach(folder ${folders} ${toolkits})
    foreach(below "" lib64/ lib/ targets/*/lib/ lib/python3*/site-packages/nvidia/*/lib/)
      list(APPEND patterns ${folder}/${below}libnvrtc.so*)
    endforeach()
  endforeach()
  file(GLOB compilers ${patterns})
  if(compilers)
    list(GET compilers 0 compiler)
    message(STATUS "Compiling the kernels that plans share: NVRTC is ${compiler}")
    set(VOSTOK_SHIP_KERNELS helpers CACHE STRING "Kernels to ship (src/shipped.cmake)")
  else()
    message(STATUS "No NVRTC here: kernels that plans share are compiled when they are first needed")
  endif()
endif()
