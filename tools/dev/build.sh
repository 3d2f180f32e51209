# SPDX-License-Identifier: Apache-2.0
preset=${1:-release}
need build test
[ "$preset" = fuzz ] && need fuzz
[ "$preset" = release ] && need bench
build "$preset"
say "binaries are in build/$preset/bin"
