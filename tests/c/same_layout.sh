#!/usr/bin/env bash
# same_layout.sh PROGRAM FILE: what the program prints of the header's structures is what the file holds. Fields are only ever added at an end.
set -euo pipefail
if "$1" | diff "$2" -; then exit 0; fi
echo "the structures of vostok.h have changed: where fields were only added at their ends, write the program's output to $2" >&2
exit 1
