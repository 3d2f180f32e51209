# SPDX-License-Identifier: Apache-2.0
# ./dev fuzz [target] [--seconds N]: each target runs N seconds (default 60) on its corpus; what it finds new stays in
# build/fuzz/corpus, crashes in build/fuzz/crashes.
need build fuzz
seconds=60
only=
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift 2 ;;
    *) only=$1; shift ;;
  esac
done
targets=()
for seeds in tests/fuzz/corpus/*/; do targets+=("$(basename "$seeds")"); done
build fuzz --target "${targets[@]}"
mkdir -p build/fuzz/crashes
passed=0 failed=0
for seeds in tests/fuzz/corpus/*/; do
  target=$(basename "$seeds")
  [ -n "$only" ] && [ "$only" != "$target" ] && continue
  binary=build/fuzz/bin/$target
  [ -x "$binary" ] || die "no such fuzz target: $target"
  mkdir -p "build/fuzz/corpus/$target"
  if "$binary" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="build/fuzz/crashes/$target-" "build/fuzz/corpus/$target" "$seeds" >"build/fuzz/$target.log" 2>&1; then
    passed=$((passed + 1))
    echo "fuzz $target: ok, $seconds s"
  else
    failed=$((failed + 1))
    tail -40 "build/fuzz/$target.log"
    echo "fuzz $target: FAILED; the input is in build/fuzz/crashes"
  fi
done
[ $((passed + failed)) -gt 0 ] || die "no fuzz target named \"$only\""
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
