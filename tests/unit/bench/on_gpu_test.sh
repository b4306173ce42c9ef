#!/usr/bin/env bash
# on_gpu_test.sh BIN DATA: `on_gpu.sh all` over tiny problems on the emulator.
set -euo pipefail
bin=$1 data=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export VOSTOK_CACHE_DIR=$out/cache_of_test
mkdir "$out/files" "$out/baselines"
cp "$data/baselines.csv" "$out/baselines/sddmm_dlmc_h200.csv"
cp "$data/baselines.csv" "$out/baselines/sddmm_synthetic_h200.csv"

fail() { echo "on_gpu_test.sh: $*" >&2; exit 1; }
on_gpu=$(dirname "${BASH_SOURCE[0]}")/../../../bench/on_gpu.sh

"$on_gpu" all "$bin" "$out/files" "$data" "$out/baselines" -- sddmm softmax sddmm:synthetic softmax:f16 --device emulator --effort heuristic --rounds 7 \
  || fail "a step failed"
listed=$(tar -tzf "$out/files/results.tar.gz" | sort | tr '\n' ' ')
for file in sddmm_f32.json sddmm_f32.txt softmax_f32.json sddmm_synthetic.json softmax_f16.json; do
  [[ $listed == *"./$file "* ]] || fail "$file is not in results.tar.gz: $listed"
done
[ "$(find "$out/files" -type f | wc -l)" -le 8 ] || fail "more than 8 files are left: $(ls "$out/files")"
grep -q "target: all problems: better sparse peer over ours" "$out/files/summary.txt" || fail "the summary has no target"

# Without time nothing is started, and the steps that are left are named.
if "$on_gpu" all "$bin" "$out/files" "$data" "$out/baselines" -- --deadline 1 sddmm softmax; then fail "a deadline that is over is no failure"; fi
grep -q "not reached: sddmm softmax" "$out/files/summary.txt" || fail "the steps that were not reached are not named"
