# SPDX-License-Identifier: Apache-2.0
# ./dev bench [NAME]... [--json FILE] [--quick]: docs/benchmarks.md says how to read what it prints.
need build test bench
build release --target merlon_perf >&2
exec python3 tests/perf/bench.py --program build/release/bin/merlon_perf "$@"
