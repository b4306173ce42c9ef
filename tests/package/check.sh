#!/usr/bin/env bash
# check.sh find_package|add_subdirectory SOURCE BUILD WORK CMAKE_ARGUMENTS...
# Builds and runs the consumer, each way that users have:
#   find_package      against the library of BUILD, installed and then moved (the package is relocatable); a program in C
#                     by pkg-config, with the shared library and with the archive
#   add_subdirectory  with the sources, as a shared library; that is then installed too and found by a project
#                     that has none of the dependencies
# The consumers keep their kernels in WORK/cache; compilers use the cache folder of whoever calls.
set -euo pipefail
way=$1 source=$2 build=$3 work=$4
shift 4
arguments=("$@")

consume() {  # consume FOLDER ARGUMENTS...: configures, builds and runs a consumer in FOLDER
  local folder=$1 pages
  shift
  pages=$(cd "$source" && find README.md bench cache src tests -name README.md -printf "$source/%p\n" | sort | paste -sd ';')
  cmake -S "$source/tests/package/consumer" -B "$folder" -DPAGES="$pages" "${arguments[@]}" "$@"
  cmake --build "$folder"
  for consumer in "$folder"/consumer_*; do XDG_CACHE_HOME=$work/cache "$consumer"; done
}

compile_c() {  # compile_c PROGRAM ARGUMENTS...: the example in C
  local program=$1
  shift
  cc -std=c99 -pedantic -Wall -Wextra -Werror "$source/tests/examples/spmm.c" -o "$program" "$@"
}

consume_by_pkg_config() {  # consume_by_pkg_config PREFIX: compiles the example in C and runs it
  local file libraries
  file=$(find "$1" -name vostok.pc)
  libraries=$(dirname "$(dirname "$file")")
  export PKG_CONFIG_PATH=${file%/*}
  local flags private
  read -ra flags <<< "$(pkg-config --cflags --libs vostok)"
  compile_c "$work/c_shared" "${flags[@]}"
  XDG_CACHE_HOME=$work/cache LD_LIBRARY_PATH=$libraries "$work/c_shared" > "$work/c_output"
  readelf -d "$work/c_shared" | grep -F '[libvostok.so.0]'
  read -ra flags <<< "$(pkg-config --cflags vostok)"
  read -ra private <<< "$(pkg-config --libs --static vostok | sed 's/-lvostok//')"
  compile_c "$work/c_archive" "${flags[@]}" "$libraries/libvostok.a" "${private[@]}"
  XDG_CACHE_HOME=$work/cache "$work/c_archive" | diff "$work/c_output" -
  grep -Fx '3 2' "$work/c_output"
}

rm -rf "$work"
mkdir -p "$work"
case $way in
  find_package)
    cmake --install "$build" --prefix "$work/first"
    mv "$work/first" "$work/moved"
    # What lies in share/vostok of the place it was moved to is a layer of the tool.
    "$work/moved/bin/vostok" cache load "$source/tests/package/shipped/fixture.tuning.txt" --into "$work/moved/share/vostok/tuning.db"
    "$work/moved/bin/vostok" cache ls > "$work/layers"
    grep -F "$work/moved/share/vostok/tuning.db: " "$work/layers"
    consume "$work/build" -DCMAKE_PREFIX_PATH="$work/moved"
    consume_by_pkg_config "$work/moved"
    ;;
  add_subdirectory)
    consume "$work/build" -DVOSTOK_SOURCE="$source" -DBUILD_SHARED_LIBS=ON \
      -DVOSTOK_SHIPPED_FOLDER="$source/tests/package/shipped"
    cmake --install "$work/build" --prefix "$work/shared"
    without=()
    for dependency in fmt SQLite3 Boost PkgConfig ZLIB; do without+=("-DCMAKE_DISABLE_FIND_PACKAGE_$dependency=ON"); done
    consume "$work/build_shared" -DCMAKE_PREFIX_PATH="$work/shared" "${without[@]}"
    # The shared library asks the database beside it: a malformed one is warned of.
    printf 'not a database' > "$work/shared/share/vostok/tuning.db"
    "$work/build_shared/consumer_package" 2> "$work/warnings"
    grep -F "$work/shared/share/vostok/tuning.db is not used" "$work/warnings"
    ;;
  *)
    echo "cannot check the package: unknown way '$way'" >&2
    exit 2
    ;;
esac
