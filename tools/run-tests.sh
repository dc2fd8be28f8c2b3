#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and tests the project: with clang, and with gcc under each sanitizer. The last line is the
# sum: "N passed, N failed, N skipped". Exit code 0 only when nothing failed.
#
#   VARVE_TEST_BUILDS="asan"   only these builds
#   VARVE_TEST_FILTER="cli"    only tests whose name matches
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
jobs=$(nproc)
tests=$((jobs + 1)) # those with a cluster wait more than they work
builds=${VARVE_TEST_BUILDS:-clang asan tsan}
filter=${VARVE_TEST_FILTER:-.}
passed=0
failed=0
skipped=0
trouble=0

tools/install-packages.sh || exit 1

# Adds ctest's figures to the sums.
count() {
  log=$1
  total=$(sed -n 's/.*tests passed, [0-9]* tests failed out of \([0-9]*\).*/\1/p' "$log")
  lost=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of .*/\1/p' "$log")
  left=$(grep -c '\*\*\*Skipped' "$log")
  if [ -z "$total" ]; then
    echo "no tests ran: see $log" >&2
    trouble=1
    return
  fi
  passed=$((passed + total - lost - left))
  failed=$((failed + lost))
  skipped=$((skipped + left))
}

run_build() {
  build=$1
  echo "== $build: building"
  if ! cmake --preset "$build" >"build/$build.configure.log" 2>&1; then
    cat "build/$build.configure.log"
    trouble=1
    return
  fi
  if ! cmake --build --preset "$build" -j "$jobs" >"build/$build.build.log" 2>&1; then
    grep -E -A 6 'error|FAILED' "build/$build.build.log" | head -60
    trouble=1
    return
  fi
  echo "== $build: testing"
  ctest --test-dir "build/$build" --output-on-failure -j "$tests" -R "$filter" 2>&1 |
    tee "build/$build.test.log"
  count "build/$build.test.log"
}

mkdir -p build
for build in $builds; do
  run_build "$build"
done
if [ "$trouble" -ne 0 ]; then
  failed=$((failed + 1))
  echo "a build or a test run did not come about; it counts as one failure" >&2
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
