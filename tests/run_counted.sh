#!/usr/bin/env bash
# run_counted.sh EXECUTABLE [SHARD SHARDS]: runs a doctest executable, or one of so many equal parts of its cases. Fails if a test case fails, and
# also if fewer cases ran than are listed (one called exit, or is decorated to be skipped) or if there are none (the objects were
# not linked). Where VOSTOK_TEST_NOTES names a file, the number of cases and the reasons of skipped ones are added to it.
set -euo pipefail

shard=${2:-1} shards=${3:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
listed=$("$1" --count --no-skip | sed -n 's/.*test cases passing the current filters: \([0-9]*\).*/\1/p')
listed=${listed:-0}
first=$(((shard - 1) * listed / shards + 1)) last=$((shard * listed / shards))
status=0
"$1" --no-colors --duration=true --first="$first" --last="$last" | tee "$log" || status=$?
# doctest's summary counts those outside of the range too; each that ran ends with its duration.
ran=$(grep -oE '[0-9]+\.[0-9]{6} s: ' "$log" | wc -l)
if [ -n "${VOSTOK_TEST_NOTES:-}" ]; then
  { echo "cases $ran"; grep 'skipped: ' "$log" || true; } >> "$VOSTOK_TEST_NOTES"
fi
if [ "$status" -eq 0 ] && { [ "$listed" -eq 0 ] || [ "$ran" -ne $((last - first + 1)) ]; }; then
  echo "$(basename "$1"): $ran test cases ran of $((last - first + 1)) listed"
  status=1
fi
exit "$status"
