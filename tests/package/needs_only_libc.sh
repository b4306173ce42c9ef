#!/usr/bin/env bash
# needs_only_libc.sh FOLDER: fails if an executable in the folder needs a shared library other than libc's own. Prints the
# libc that each needs: the folder can be copied to any Linux that has it.
set -euo pipefail
status=0
for program in "$1"/*; do
  needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux[a-z0-9_-]*)\.so' || true)
  newest=$(readelf --version-info "$program" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV | tail -n 1)
  echo "$(basename "$program"): $newest${needed:+, but also ${needed//$'\n'/, }}"
  [ -z "$needed" ] || status=1
done
exit $status
