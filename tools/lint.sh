#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the form of all sources; `lint.sh format` puts the C sources into it.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
status=0

c_files() {
  git ls-files --cached --others --exclude-standard -- '*.c' '*.h'
}

if [ "${1:-}" = format ]; then
  c_files | xargs clang-format -i
  exit
fi
echo '== clang-format'
c_files | xargs clang-format --dry-run -Werror || status=1
echo '== clang-tidy'
cmake --preset clang >/dev/null || exit 1
# Only the project's own sources; a file at a time, as many at once as there are processors.
git ls-files -- 'src/*.c' 'lib/*.c' |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/clang 2>/dev/null || status=1
echo '== shellcheck'
git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run | xargs shellcheck || status=1
[ "$status" -eq 0 ] && echo 'all is in form'
exit "$status"
