# completion of merlon for bash: source <(merlon completion bash)
_merlon() {
  local line=${COMP_LINE:0:COMP_POINT} cur word keep
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[-1]}
  # bash cuts words at "=" and ":" and replaces the last piece only
  keep=${cur%"${cur##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
    fi
    COMPREPLY+=("${word#"$keep"}")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _merlon merlon
