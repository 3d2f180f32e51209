# SPDX-License-Identifier: Apache-2.0
# ./dev test [name]: everything that needs no special hardware. Names: unit cases replay smoke asan tsan fuzz.
# The last line sums what every runner counted.
need build test
only=${1:-}
data=../shared/data
passed=0 failed=0 skipped=0
mkdir -p build/logs

wants() { [ -z "$only" ] || [ "$only" = "$1" ]; }

# count LOG: adds the runner's closing line "N passed, N failed[, N skipped]".
count() {
  local line
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -1)
  if [ -z "$line" ]; then
    echo "$1: the runner stopped without a result"
    failed=$((failed + 1))
    return
  fi
  passed=$((passed + $(sed -E 's/^([0-9]+) passed.*/\1/' <<<"$line")))
  failed=$((failed + $(sed -E 's/.* ([0-9]+) failed.*/\1/' <<<"$line")))
  case $line in *skipped*) skipped=$((skipped + $(sed -E 's/.* ([0-9]+) skipped.*/\1/' <<<"$line"))) ;; esac
}

# run NAME COMMAND...: runs, keeps the log, shows the end of it when something failed, counts.
run() {
  local name=$1 code=0 start=$SECONDS
  shift
  "$@" >"build/logs/$name.log" 2>&1 || code=$?
  if [ $code -ne 0 ]; then
    echo "---- $name failed (exit $code); the end of build/logs/$name.log:"
    tail -60 "build/logs/$name.log"
  fi
  printf '%-16s %s, %d s\n' "$name" "$([ $code -eq 0 ] && echo ok || echo FAILED)" $((SECONDS - start))
  count "build/logs/$name.log"
}

# programs PRESET NAME...: GoogleTest programs, each with its own count of tests.
programs() {
  local preset=$1 sum_passed=0 sum_failed=0 sum_skipped=0 program out
  shift
  for program in "$@"; do
    [ -x "build/$preset/bin/$program" ] || { echo "$program was not built"; sum_failed=$((sum_failed + 1)); continue; }
    out="build/logs/$preset-$program.log"
    if ! (cd "build/$preset" && timeout 300 "bin/$program" --gtest_brief=1) >"$out" 2>&1; then
      tail -40 "$out"
      # A crash leaves no list of failed tests.
      grep -q 'FAILED TEST' "$out" || { echo "$program stopped"; sum_failed=$((sum_failed + 1)); }
    fi
    sum_passed=$((sum_passed + $(sed -nE 's/^\[  PASSED  \] ([0-9]+) test.*/\1/p' "$out" | tail -1 | grep . || echo 0)))
    sum_failed=$((sum_failed + $(sed -nE 's/^ *([0-9]+) FAILED TEST.*/\1/p' "$out" | tail -1 | grep . || echo 0)))
    sum_skipped=$((sum_skipped + $(sed -nE 's/^\[  SKIPPED \] ([0-9]+) test.*/\1/p' "$out" | tail -1 | grep . || echo 0)))
  done
  echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped"
  [ $sum_failed -eq 0 ]
}

# corpora PRESET: every fuzz corpus once through its target.
corpora() {
  local ok=0 bad=0 folder name
  for folder in tests/fuzz/corpus/*/; do
    name=$(basename "$folder")
    if timeout 120 "build/$1/bin/${name}_replay" "$folder"; then ok=$((ok + 1)); else bad=$((bad + 1)); fi
  done
  echo "$ok passed, $bad failed"
  [ $bad -eq 0 ]
}

# budgets: no allocation on a packet's way.
budgets() {
  if build/release/bin/merlon_perf allocations --packets 1000000; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; return 1; fi
}

# classbench: the classifier against a linear scan, on the sets of the shared data.
classbench() {
  if [ -d "$data/classbench" ]; then
    build/release/bin/merlon_perf equality --packets 120000 --classbench "$data/classbench"
  else
    echo "there is no $data/classbench"
    echo "0 passed, 0 failed, 1 skipped"
  fi
}

unit_programs="base_test packet_test client_test io_test flow_test policy_test telemetry_test forward_test engine_test
  control_test merlon_cli_test merlon_cli_api_test lab_model_test lab_search_test lab_host_test lab_report_test
  lab_traffic_test lab_tcp_test lab_device_test lab_run_test"

if wants unit || wants cases || wants replay || wants smoke; then
  say "build release"
  build release >build/logs/build-release.log 2>&1 || { tail -60 build/logs/build-release.log; die "the release build failed"; }
fi
# shellcheck disable=SC2086
wants unit && run unit programs release $unit_programs io_dpdk_test
wants unit && run corpora corpora release
wants unit && run budgets budgets
wants unit && run classbench classbench
wants cases && run cases build/release/bin/merlon_cases
wants cases && run cases-2-workers build/release/bin/merlon_cases --workers 2
wants cases && run cases-4-workers build/release/bin/merlon_cases --workers 4
wants replay && run replay tests/replay/sweep build/release/bin/merlond "$data"
if wants smoke && [ -x tests/smoke/run ]; then run smoke tests/smoke/run; fi

if wants asan; then
  need fuzz
  say "build for the address and undefined-behaviour sanitisers"
  # The fast programs, in the fuzz targets' build, which has the same sanitisers; those run every corpus below.
  asan_programs="base_test packet_test client_test io_test flow_test policy_test telemetry_test forward_test engine_test
    lab_model_test lab_search_test lab_report_test lab_traffic_test lab_tcp_test lab_run_test"
  # shellcheck disable=SC2086 # one word per target
  build fuzz --target merlon_cases $asan_programs >build/logs/build-asan.log 2>&1 ||
    { tail -60 build/logs/build-asan.log; die "the build for the sanitisers failed"; }
  # shellcheck disable=SC2086
  run asan-unit programs fuzz $asan_programs
  run asan-cases build/fuzz/bin/merlon_cases
fi
if wants tsan; then
  say "build tsan"
  build tsan --target base_test telemetry_test engine_test lab_traffic_test >build/logs/build-tsan.log 2>&1 ||
    { tail -60 build/logs/build-tsan.log; die "the tsan build failed"; }
  run tsan-unit programs tsan base_test telemetry_test engine_test lab_traffic_test
fi
if wants fuzz; then run fuzz ./dev fuzz --seconds "${MERLON_FUZZ_SECONDS:-10}"; fi

[ $skipped -gt 0 ] && more=", $skipped skipped" || more=
echo "$passed passed, $failed failed$more"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
