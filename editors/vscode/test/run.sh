#!/usr/bin/env bash
# Checks the extension for VS Code: types, the search for the program, the manifest, the schemas in `editors/` by VS Code's JSON service,
# and that vsce makes a package. TAPSTER: a program by which snippets are checked. PACKAGE: where the package is written.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "notice: $*"; exit 0; }
command -v npm >/dev/null 2>&1 || skip "npm is not installed; the extension for VS Code is not checked"
# `import.meta.dirname` is from 20.11
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 11) ? 0 : 1)' ||
  skip "Node 20.11 is needed; the extension for VS Code is not checked"
# packages of an older lock file are replaced
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --silent >/dev/null 2>&1 ||
  skip "the packages of the extension for VS Code cannot be had; it is not checked"
npx --no-install tsc --noEmit
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
package=${PACKAGE:-$made/tapster.vsix}
npx --no-install vsce package --no-dependencies --out "$package" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
if grep -i warn "$made/log"; then exit 1; fi
node --test --test-reporter=tap test/*.test.js >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
passed=$(sed -n 's/^# pass //p' "$made/log")
[ "${passed:-0}" -gt 0 ] || { cat "$made/log" >&2; exit 1; }
echo "extension for VS Code: $passed tests, $(stat -c %s "$package" 2>/dev/null || stat -f %z "$package") bytes"
