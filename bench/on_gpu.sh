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
BASELINES  folder of the CSV files of times reached elsewhere
ARGUMENT   passed on to the program

tests      the device room and every operation on this GPU; memcheck, racecheck: compute-sanitizer over the operations' tests, e.g. with
           -- '-tc=unpack_wgmma*'. Several test cases at a time; OUT/operations.txt, OUT/memcheck.txt and OUT/racecheck.txt grow as they end
spmm, sddmm, softmax [:f32, :f16, :bf16]
           that operation over DATA beside the peers; spmm:SET: over a set of made problems (llm, llm_tokens, rnn, ...); sddmm:synthetic and softmax:synthetic: over the baselines' generated masks
training   a mask that is replaced 200 times: topology and three rebinds, memory, compiles
sparse_mlp a 90 % sparse perceptron trained beside its dense-masked twin, its masks regrown every 50 steps
ablation   bench_ablation: each technique off, one at a time
packing    bench_packing: values of a call into strips, of A and of A^T
overhead   bench_overhead: execute beside a raw launch
plan       bench_plan: what a plan costs, with no cache, from a cold process's files, and decided before
tune       vostok tune with ARGUMENTs, e.g. --problems span.problems.txt --time-limit 300; what it found as text in OUT/tuning.txt, also where it was cut short
all        the measurements one after another, the most important first, within --deadline SECONDS (default 560). ARGUMENTs that are
           steps replace the list; others go to spmm, sddmm and softmax (default: --effort quick --budget 3). Leaves three files in OUT:
           results.tar.gz, summary.txt and tuning.db; kernels and choices stay in VOSTOK_CACHE_DIR (default: a folder in TMPDIR) for the
           next call. Ends with the steps that were cut short or not reached.
TEXT
}

[ $# -ge 3 ] || { usage; exit 2; }
step=$1 bin=$2 out=$3
shift 3
data=../shared/data/dlmc baselines=
if [ $# -gt 0 ] && [ "$1" != -- ]; then data=$1; shift; fi
if [ $# -gt 0 ] && [ "$1" != -- ]; then baselines=$1; shift; fi
[ "${1:-}" != -- ] || shift
mkdir -p "$out"

# What tests of operations leave out where kernels are checked, which run hundreds of times slower: those that queue a thousand products, and two
# that the tool itself fails on: threads that plan at once, and capture beside planning (bench/notes/checks.md#where-tools-object-or-fail).
unchecked='a thousand*,*: a thousand*,many threads plan*,one thread captures*'

# shards NAME FILTERS COMMAND...: COMMAND over the operations' test cases, three at a time and as many processes as there are processors, for each
# waits for a compiler. OUT/NAME.txt has a line of each as it ends, OUT/NAME/ the output of those that failed: so a run that is cut short tells
# what it reached. FILTERS choose test cases, one a line.
shards() {
  local name=$1 size=3 count filters
  mapfile -t filters <<< "$2"
  shift 2
  count=$("$bin/test_device_ops" --list-test-cases "${filters[@]}" | sed -n 's/.*passing the current filters: //p')
  mkdir -p "$out/$name"
  : > "$out/$name.txt"
  # shellcheck disable=SC2016  # the inner shell expands them
  seq 1 $size "$count" | xargs -P "$(nproc)" -I{} bash -c '
    list=$1 folder=$2 first=$3 last=$(($3 + $4 - 1)); shift 4
    if "$@" --first="$first" --last="$last" > "$folder/$first.log" 2>&1; then status=0; else status=$?; fi
    counts=$(sed -n "s/^\[doctest\] assertions: *//p" "$folder/$first.log")
    echo "cases $first to $last: status $status, assertions $counts" >> "$list"
    if [ $status -eq 0 ]; then rm "$folder/$first.log"; else tail -n 40 "$folder/$first.log"; fi
  ' _ "$out/$name.txt" "$out/$name" {} $size "$@" "${filters[@]}"
  awk -F'[:|, ]+' -v shards=$(((count + size - 1) / size)) '{ all += $8; failed += $12 } $6 != 0 { bad++ }
    END { printf "%s of %s shards ran, %s of them failed; %s assertions, %s failed\n", NR, shards, bad + 0, all + 0, failed + 0; exit bad > 0 || NR < shards }' "$out/$name.txt"
}

# API errors are not reported: the library asks the driver whether a pointer is the device's, and an error is how it says no.
sanitize() {
  local tool=$1 chosen=-tce=$unchecked filter
  shift
  for filter in "$@"; do chosen+=$'\n'$filter; done
  VOSTOK_TEST_DEVICES=gpu shards "$tool" "$chosen" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$bin/test_device_ops"
}

# compare OPERATION[:VARIANT] ARGUMENT...: one of the programs that compare an operation with others
compare() {
  local operation=${1%%:*} variant=f32 table
  [[ $1 == *:* ]] && variant=${1#*:}
  local arguments=(--data "$data" --out "$out/${operation}_$variant.json") file=$operation set=dlmc
  [ "$operation" = softmax ] && file=sddmm
  if [ "$variant" = synthetic ]; then
    [ -n "$baselines" ] || { echo "on_gpu.sh: $1 needs BASELINES" >&2; return 2; }
    set=synthetic
    arguments+=(--synthetic --filter attention)
  elif [ "$operation" = spmm ] && [[ ! $variant =~ ^b?f[0-9]+$ ]]; then
    set=synthetic
    arguments+=(--set "$variant")
  else
    arguments+=(--dtype "$variant")
  fi
  table=$baselines/${file}_${set}_h200.csv
  if [ -n "$baselines" ]; then arguments+=(--baselines "$table"); fi
  "$bin/bench_$operation" "${arguments[@]}" "${@:2}" 2>&1 | tee "$out/${operation}_$variant.txt"
}

measure() {
  case $1 in
    spmm | spmm:* | sddmm | sddmm:* | softmax | softmax:*) compare "$@" ;;
    ablation) "$bin/bench_ablation" --data "$data" --out "$out/ablation.json" "${@:2}" 2>&1 | tee "$out/ablation.txt" ;;
    sparse_mlp) "$bin/bench_sparse_mlp" --regrow 50 --out "$out/sparse_mlp.json" "${@:2}" 2>&1 | tee "$out/sparse_mlp.txt" ;;
    training | packing | overhead | plan) "$bin/bench_$1" --out "$out/$1.json" "${@:2}" 2>&1 | tee "$out/$1.txt" ;;
    *) echo "on_gpu.sh: '$1' is no measurement" >&2; return 2 ;;
  esac
}

# --- all ------------------------------------------------------------------------------------------------------------

# What may be spent on a step, in seconds: enough for all its problems, so that a slow one does not take the next one's time.
slice_of() {
  case $1 in
    training | packing | overhead | plan) echo 40 ;;
    softmax* | *:synthetic | sparse_mlp) echo 60 ;;
    *) echo 170 ;;
  esac
}

# The measurements so far, put where they come back from.
publish() {
  tar -C "$out" -czf "$final/results.tar.gz.part" . && mv "$final/results.tar.gz.part" "$final/results.tar.gz"
  if [ -e "$VOSTOK_CACHE_DIR/tuning.db" ]; then cp "$VOSTOK_CACHE_DIR/tuning.db" "$final/tuning.db"; fi
}

all() {
  local deadline=560 steps=() arguments=() left=() name seconds status
  while [ $# -gt 0 ]; do
    case $1 in
      --deadline) deadline=$2; shift ;;
      spmm | spmm:* | sddmm | sddmm:* | softmax | softmax:* | training | sparse_mlp | packing | overhead | plan | ablation) steps+=("$1") ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  [ ${#steps[@]} -gt 0 ] || steps=(training sddmm:f32 spmm:f16 softmax:f32 spmm:f32 overhead sparse_mlp sddmm:f16 spmm:bf16 sddmm:bf16 softmax:f16 softmax:bf16
    sddmm:synthetic softmax:synthetic)
  [ ${#arguments[@]} -gt 0 ] || arguments=(--effort quick --budget 3)
  final=$out
  out=$(mktemp -d)
  trap publish EXIT
  trap 'exit 143' TERM INT
  for name in "${steps[@]}"; do
    seconds=$(slice_of "$name")
    if [ $((deadline - SECONDS)) -lt "$seconds" ]; then seconds=$((deadline - SECONDS)); fi
    if [ "$seconds" -lt 15 ]; then left+=("$name"); continue; fi
    echo "=== $name, $seconds s at most ($((deadline - SECONDS)) s left)"
    status=0
    case $name in
      training | sparse_mlp | packing | overhead | plan) measure "$name" || status=$? ;;
      ablation) measure "$name" --effort cached --deadline "$seconds" || status=$? ;;
      *) measure "$name" "${arguments[@]}" --deadline "$seconds" || status=$? ;;
    esac
    [ $status -eq 0 ] || left+=("$name")
    publish
  done > >(tee -a "$final/summary.txt") 2>&1
  wait $!
  [ ${#left[@]} -eq 0 ] || { echo "cut short, wrong or not reached: ${left[*]}" | tee -a "$final/summary.txt"; return 1; }
}

if [ "$step" = all ]; then
  export VOSTOK_CACHE_DIR=${VOSTOK_CACHE_DIR:-${TMPDIR:-/tmp}/vostok_on_gpu}
else
  export VOSTOK_CACHE_DIR=${VOSTOK_CACHE_DIR:-$out/cache}
fi

case $step in
  tests)
    "$bin/vostok" doctor | tee "$out/doctor.txt"
    "$bin/test_device" "$@" 2>&1 | tee "$out/test_device.log"
    printf -v chosen '%s\n' "${@:--tc=*}"
    shards operations "${chosen%$'\n'}" "$bin/test_device_ops"
    ;;
  memcheck | racecheck) sanitize "$step" "$@" ;;
  tune)
    trap '"$bin/vostok" cache dump --out "$out/tuning.txt"' EXIT
    trap 'exit 143' TERM INT
    "$bin/vostok" tune "$@" 2>&1 | tee "$out/tune.log"
    ;;
  all) all "$@" ;;
  spmm* | sddmm* | softmax* | training | sparse_mlp | ablation | packing | overhead | plan) measure "$step" "$@" ;;
  *) usage; exit 2 ;;
esac
