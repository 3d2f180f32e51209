# SPDX-License-Identifier: Apache-2.0
# ./dev lint [--tidy changed|all|none] [--since REVISION]: what a reader should not have to look for. Each check prints
# what it found; the last line is `N passed, N failed`. clang-tidy looks at sources that differ from REVISION (default:
# where this branch left its upstream, else the commit before) unless told otherwise.
need build test lint bench

tidy=changed since=
while [ $# -gt 0 ]; do
  case $1 in
    --tidy) tidy=${2:-}; shift 2 || die "--tidy takes changed, all or none" ;;
    --since) since=${2:-}; shift 2 || die "--since takes a revision" ;;
    *) die "lint takes --tidy changed|all|none and --since REVISION, not \"$1\"" ;;
  esac
done
case $tidy in changed | all | none) ;; *) die "--tidy takes changed, all or none, not \"$tidy\"" ;; esac

# Files that may be longer, each with its reason.
long_files() {
  cat <<'TXT'
TXT
}

cpp_files() { git ls-files '*.h' '*.cc'; }
shell_files() { git ls-files dev .ci/run tools/fresh-check '*.sh' 'packaging/completions/*.bash'; }
# Written by hand, so that the first lines can say under which licence.
licensed_files() {
  git ls-files '*.h' '*.cc' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt' dev .ci/run 'packaging/systemd/*'
}

check_format() {
  local bad
  bad=$(cpp_files | xargs clang-format-16 --dry-run 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning.*/\1/p' | sort | uniq -c)
  [ -z "$bad" ] && return 0
  echo "$bad"
  echo "./dev format rewrites them"
  return 1
}

# Configuring stops when a room uses its own layer or a higher one.
check_layers() { cmake --preset release; }

# Each public header compiles alone.
check_headers() { build release --target all_verify_interface_header_sets; }

check_licence() {
  local file bad=0
  while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' && continue
    echo "$file: the first line has no SPDX-License-Identifier"
    bad=1
  done < <(licensed_files)
  return $bad
}

# An open point has an issue: TODO(#12).
check_open_points() {
  ! git grep -nIE '\b(TODO|FIXME|XXX|HACK)\b' -- '*.h' '*.cc' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt' \
    ':!tools/dev/lint.sh' | grep -vE 'TODO\(#[0-9]+\)'
}

check_sizes() {
  local file lines limit bad=0
  while read -r file; do
    lines=$(wc -l <"$file")
    limit=600
    [[ $file == *.h ]] && limit=250
    [ "$lines" -le $limit ] && continue
    long_files | grep -q "^$file " && continue
    echo "$file: $lines lines, $limit are the limit"
    bad=1
  done < <(cpp_files)
  return $bad
}

check_dpdk_only_in_io() {
  ! git grep -nE '#include *[<"]rte_' -- '*.h' '*.cc' ':!libs/io/'
}

# Paths of the machine that somebody worked on.
check_paths() {
  ! git grep -nIE '(^|[^a-zA-Z0-9_.])/(work|root|home/[a-z]+|tmp/bash[^ ]*)/' -- ':!tools/dev/lint.sh'
}

check_shell() { shell_files | xargs shellcheck --shell=bash --exclude=SC1090,SC2154; }

# What is made from the program's tables equals what is checked in. docs/reference/api.md is compared by control_test.
check_reference() {
  local made=build/lint/reference page bad=0
  build release --target merlon merlon-docgen merlon-docgen-config merlon-lab-docgen || return 1
  rm -rf "$made"
  mkdir -p "$made"
  build/release/bin/merlon-docgen "$made" && build/release/bin/merlon-docgen-config "$made" &&
    build/release/bin/merlon-lab-docgen "$made" &&
    build/release/bin/merlon __reference >"$made/commands.md" || return 1
  for page in "$made"/*; do
    diff -u "docs/reference/${page##*/}" "$page" && continue
    bad=1
  done
  [ $bad -eq 0 ] || echo "copy the new pages from $made to docs/reference"
  build/release/bin/merlon completion bash | diff -u packaging/completions/merlon.bash - || bad=1
  build/release/bin/merlon completion zsh | diff -u packaging/completions/_merlon - || bad=1
  return $bad
}

# Files, links, headings and commands that documents name are there, and lists that should be whole are.
check_documents() { python3 tools/dev/check_documents.py; }

# README's figures are those of the last recorded benchmark.
check_numbers() { python3 tools/dev/readme_numbers.py --check; }

tidy_files() {
  if [ "$tidy" = all ]; then
    git ls-files 'libs/*.cc' 'apps/*.cc' 'tests/*.cc'
    return
  fi
  local from=$since
  [ -n "$from" ] || from=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || from=HEAD~1
  git diff --name-only --diff-filter=d "$from" -- 'libs/*.cc' 'apps/*.cc' 'tests/*.cc'
}

check_tidy() {
  local files
  files=$(tidy_files | while read -r file; do grep -qF "/$file\"" build/release/compile_commands.json && echo "$file"; done) || true
  [ -n "$files" ] || { echo "no source differs"; return 0; }
  # The commands are g++'s: some of its warning names mean nothing to clang.
  echo "$files" | xargs -P "$jobs" -n 4 clang-tidy-16 -p build/release --quiet --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-unused-command-line-argument 2>&1 | { grep -vE '^[0-9]+ warnings? generated|^Suppressed' || true; }
}

passed=0 failed=0
run_check() { # NAME FUNCTION
  if output=$("$2" 2>&1); then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$1"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$1"
    printf '%s\n' "$output" | sed 's/^/      /' | head -n 200
  fi
}

run_check "first lines name the licence" check_licence
run_check "open points have an issue" check_open_points
run_check "files are short enough" check_sizes
run_check "DPDK is seen by the io room only" check_dpdk_only_in_io
run_check "no paths of one machine" check_paths
run_check "shell scripts" check_shell
run_check "what documents name is there" check_documents
run_check "README's numbers" check_numbers
run_check "layout of C++ files" check_format
run_check "layers of rooms" check_layers
run_check "headers compile alone" check_headers
run_check "generated reference" check_reference
[ "$tidy" = none ] || run_check "clang-tidy, $tidy files" check_tidy
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
