#!/usr/bin/env bash
# run_pytest.sh PYTHON FILE: runs a test file by the interpreter of .venv, or by PYTHON where there is none. What is left out, and why, is added to
# the file that VOSTOK_TEST_NOTES names, as conftest.py adds the number of cases that ran.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$1
[ ! -x "$root/.venv/bin/python" ] || python=$root/.venv/bin/python

leave_out() {
  echo "skipped: $1"
  [ -z "${VOSTOK_TEST_NOTES:-}" ] || echo "skipped: $1" >> "$VOSTOK_TEST_NOTES"
  exit 0
}

"$python" -c 'import numpy, pytest' 2> /dev/null || leave_out "the Python tests need numpy and pytest (./run python installs them)"
if [[ $2 == */torch/* ]]; then
  # The toolkit's libraries stand in for NVIDIA's wheels, which torch is installed without.
  [ ! -d /usr/local/cuda/lib64 ] || export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  reason=$("$python" -W ignore -c 'import torch' 2>&1 | tail -n 1) || true
  [ -z "$reason" ] || leave_out "the Python tests with torch: $reason"
fi
exec "$python" -m pytest -q -p no:cacheprovider "$2"
