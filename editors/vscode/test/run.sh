#!/usr/bin/env bash
# Checks the extension for VS Code: types, the search for the program, the manifest, the schemas in `editors/` by VS Code's JSON service,
# and that vsce makes a package. TAPSTER: a program by which snippets are checked. PACKAGE: where the package is written.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "notice: $*"; exit 0; }
command -v npm >/dev/null 2>&1 || skip "npm is not installed; the extension for VS Code is not checked"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || skip "Node 20 is needed; the extension for VS Code is not checked"
[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --silent >/dev/null 2>&1 ||
  skip "the packages of the extension for VS Code cannot be had; it is not checked"
npx --no-install tsc --noEmit
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
package=${PACKAGE:-$made/tapster.vsix}
npx --no-install vsce package --no-dependencies --out "$package" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
if grep -i warn "$made/log"; then exit 1; fi
node --test test/ >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
echo "extension for VS Code: $(sed -n 's/^# pass //p' "$made/log") tests, $(stat -c %s "$package" 2>/dev/null || stat -f %z "$package") bytes"
