# SPDX-License-Identifier: Apache-2.0
# Shared by the commands of ./dev; sourced from the top of the tree.
# One cache serves every checkout: paths are hashed relative to the tree (debug information is mapped there too).
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
jobs=$(nproc)

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { echo "dev: $*" >&2; exit 1; }

packages_of() { sed -n "s/^$1: //p" tools/dev/packages.txt | tr ' ' '\n'; }

# need GROUP...: installs what is missing of the groups; does nothing when all is there.
need() {
  local missing=() group package
  for group in "$@"; do
    while read -r package; do
      dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done < <(packages_of "$group")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing and I am not root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET [cmake --build arguments]
build() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"build-$preset.log" 2>&1 || {
    cat "build-$preset.log" >&2
    rm -f "build-$preset.log"
    die "configuring $preset failed"
  }
  rm -f "build-$preset.log"
  cmake --build "build/$preset" -j"$jobs" "$@"
}
