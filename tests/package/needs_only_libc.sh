#!/usr/bin/env bash
# needs_only_libc.sh FOLDER: every executable in the folder needs no shared library but libc's own, of Debian 12's version
# or older, so that the folder can be copied to another Linux.
set -euo pipefail
status=0
for program in "$1"/*; do
  needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux[a-z0-9_-]*)\.so' || true)
  newest=$(readelf --version-info "$program" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV | tail -n 1)
  if [ -n "$needed" ]; then
    echo "$program needs ${needed//$'\n'/, }"
    status=1
  fi
  if [ "$(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1)" != GLIBC_2.36 ]; then
    echo "$program needs $newest"
    status=1
  fi
  echo "$(basename "$program"): $newest"
done
exit $status
