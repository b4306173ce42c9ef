#!/usr/bin/env bash
# run_noted.sh PROGRAM ARGUMENTS...: runs a test that is one program. Where VOSTOK_TEST_NOTES names a file, it counts there as one case, and lines with
# "skipped: <reason>" are added to it.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"$@" | tee "$log" || status=$?
if [ -n "${VOSTOK_TEST_NOTES:-}" ]; then
  { echo "cases 1"; grep 'skipped: ' "$log" || true; } >> "$VOSTOK_TEST_NOTES"
fi
exit "$status"
