#!/usr/bin/env bash
# Tests and measurements of one release on one GPU machine, from a copied folder of executables (preset gpu).
# Each step prints its output and writes logs and results to OUT; its exit status is that of what it ran.
set -euo pipefail

usage() {
  cat <<'TEXT'
on_gpu.sh STEP BIN OUT [DATA [BASELINES]] [-- ARGUMENT...]

BIN        build/gpu/bin, or a copy of it
OUT        folder for logs and result files
DATA       folder of the matrices and problems.txt (default: ../shared/data/dlmc)
BASELINES  CSV of times reached elsewhere
ARGUMENT   passed on to the program

tests      the device room and every operation on this GPU
memcheck   compute-sanitizer --tool memcheck over the operations' tests
racecheck  compute-sanitizer --tool racecheck over the operations' tests
spmm       bench_spmm with effort full, beside cuSPARSE and cuBLAS
ablation   bench_ablation: each technique off, one at a time
overhead   bench_overhead: execute beside a raw launch
TEXT
}

[ $# -ge 3 ] || { usage; exit 2; }
step=$1 bin=$2 out=$3
shift 3
data=../shared/data/dlmc baselines=()
if [ $# -gt 0 ] && [ "$1" != -- ]; then data=$1; shift; fi
if [ $# -gt 0 ] && [ "$1" != -- ]; then baselines=(--baselines "$1"); shift; fi
[ "${1:-}" != -- ] || shift
mkdir -p "$out"
export VOSTOK_CACHE_DIR=${VOSTOK_CACHE_DIR:-$out/cache}

# Checked kernels run hundreds of times slower: the test that queues a thousand long products is left to `tests`.
sanitize() {
  compute-sanitizer --tool "$1" --error-exitcode 9 "$bin/test_device_ops" -tce='a thousand plans*' "${@:2}" 2>&1 | tee "$out/$1.log"
}

case $step in
  tests)
    "$bin/vostok" doctor | tee "$out/doctor.txt"
    "$bin/test_device" "$@" 2>&1 | tee "$out/test_device.log"
    "$bin/test_device_ops" "$@" 2>&1 | tee "$out/test_device_ops.log"
    ;;
  memcheck | racecheck) sanitize "$step" "$@" ;;
  spmm) "$bin/bench_spmm" --data "$data" "${baselines[@]}" --out "$out/spmm.json" "$@" 2>&1 | tee "$out/spmm.txt" ;;
  ablation) "$bin/bench_ablation" --data "$data" --out "$out/ablation.json" "$@" 2>&1 | tee "$out/ablation.txt" ;;
  overhead) "$bin/bench_overhead" --out "$out/overhead.json" "$@" 2>&1 | tee "$out/overhead.txt" ;;
  *) usage; exit 2 ;;
esac
