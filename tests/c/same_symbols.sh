#!/usr/bin/env bash
# same_symbols.sh LIBRARY HEADER: the C symbols that the shared library exports are the header's functions, in the version node VOSTOK_0, and what
# else it exports is C++ of the project's own.
set -euo pipefail
library=$1 header=$2
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }')
declared=$(tr '\n' ' ' < "$header" | grep -oE 'VOSTOK_API [^;(]*\(' | grep -oE 'vostok_[a-z0-9_]+\($' | tr -d '(' | sort)
[ -n "$declared" ] || { echo "cannot find a function in $header" >&2; exit 1; }
status=0
diff <(echo "$declared" | sed 's/$/@@VOSTOK_0/') <(echo "$exported" | grep -v '^_Z' | sort) || status=1
strange=$(echo "$exported" | grep '^_Z' | grep -vE '6vostok.*@@VOSTOK_CXX_' || true)
[ -z "$strange" ] || { echo "not of this project's public API: $strange"; status=1; }
echo "$(echo "$declared" | wc -l) functions of C, $(echo "$exported" | grep -c '^_Z') symbols of C++"
exit $status
