# SPDX-License-Identifier: Apache-2.0
# ./dev setup [group...]: what building and testing need, and further groups of tools/dev/packages.txt: demo lint fuzz
# bench lab.
for group in "$@"; do
  [ -n "$(packages_of "$group")" ] || die "no group of packages is named \"$group\"; tools/dev/packages.txt has them"
done
need build test "$@"
say "packages are there"
