# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What examples share: to be read with `.`; the variable varve names the program.

heading() {
  if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\n\033[1m%s\033[0m\n' "$1"
  else
    printf '\n%s\n' "$1"
  fi
}

# Shows a command as one would type it, then runs it.
run() {
  shown='$ varve'
  for word in "$@"; do
    case $word in
    *[!A-Za-z0-9_./,:=%-]*) shown="$shown '$word'" ;;
    *) shown="$shown $word" ;;
    esac
  done
  echo "$shown"
  "${varve:?names the program}" "$@"
}
