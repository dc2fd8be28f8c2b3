#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the optimised build below a prefix: program, man page, completions. $DESTDIR is put in
# front of all paths, for packages.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:-/usr/local}
varve=$root/build/release/varve
share=${DESTDIR:-}$prefix/share

cmake --install "$root/build/release" --prefix "$prefix"
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
  "$share/fish/vendor_completions.d" "$share/doc/varve"
"$varve" help --man >"$share/man/man1/varve.1"
"$varve" completion bash >"$share/bash-completion/completions/varve"
"$varve" completion zsh >"$share/zsh/site-functions/_varve"
"$varve" completion fish >"$share/fish/vendor_completions.d/varve.fish"
cp "$root/LICENSE" "$root/README.md" "$root"/docs/*.md "$share/doc/varve/"
