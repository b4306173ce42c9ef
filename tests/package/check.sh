#!/usr/bin/env bash
# check.sh find_package|add_subdirectory SOURCE BUILD WORK CMAKE_ARGUMENTS...
# Builds and runs the consumer, each way that users have:
#   find_package      against the library of BUILD, installed and then moved (the package is relocatable)
#   add_subdirectory  with the sources, as a shared library; that is then installed too and found by a project
#                     that has none of the dependencies
# The consumers keep their kernels in WORK/cache; compilers use the cache folder of whoever calls.
set -euo pipefail
way=$1 source=$2 build=$3 work=$4
shift 4
arguments=("$@")

consume() {  # consume FOLDER ARGUMENTS...: configures, builds and runs a consumer in FOLDER
  local folder=$1
  shift
  cmake -S "$source/tests/package/consumer" -B "$folder" -DREADME="$source/README.md" "${arguments[@]}" "$@"
  cmake --build "$folder"
  for consumer in "$folder"/consumer_*; do XDG_CACHE_HOME=$work/cache "$consumer"; done
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
