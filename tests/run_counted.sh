#!/usr/bin/env bash
# run_counted.sh EXECUTABLE [ARGUMENTS]: runs a doctest executable. Fails if a test case fails, and also if fewer cases
# ran than are listed (one called exit, or is decorated to be skipped) or if there are none (the objects were not linked).
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
listed=$("$1" --count --no-skip | sed -n 's/.*test cases passing the current filters: \([0-9]*\).*/\1/p')
"$@" --no-colors | tee "$log"
ran=$(sed -n 's/^\[doctest\] test cases: *\([0-9]*\) .*/\1/p' "$log")
if [ "${listed:-0}" -eq 0 ] || [ "${ran:-0}" != "$listed" ]; then
  echo "$(basename "$1"): ${ran:-no} test cases ran of ${listed:-none} listed"
  exit 1
fi
