#!/usr/bin/env bash
# run_counted.sh EXECUTABLE: runs a doctest executable. Fails if a test case fails, and also if fewer cases ran than are
# listed (one called exit, or is decorated to be skipped) or if there are none (the objects were not linked).
# Where VOSTOK_TEST_NOTES names a file, the number of cases and the reasons of skipped ones are added to it.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
listed=$("$1" --count --no-skip | sed -n 's/.*test cases passing the current filters: \([0-9]*\).*/\1/p')
status=0
"$1" --no-colors | tee "$log" || status=$?
ran=$(sed -n 's/^\[doctest\] test cases: *\([0-9]*\) .*/\1/p' "$log")
if [ -n "${VOSTOK_TEST_NOTES:-}" ]; then
  { echo "cases ${ran:-0}"; grep 'skipped: ' "$log" || true; } >> "$VOSTOK_TEST_NOTES"
fi
if [ "$status" -eq 0 ] && { [ "${listed:-0}" -eq 0 ] || [ "${ran:-0}" != "$listed" ]; }; then
  echo "$(basename "$1"): ${ran:-no} test cases ran of ${listed:-none} listed"
  status=1
fi
exit "$status"
