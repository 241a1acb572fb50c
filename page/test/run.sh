#!/usr/bin/env bash
# Checks the page: types, that the bundled files in `cli/page` are those of the sources, and in Chromium what people do
# with it, over the program that TAPSTER names. UPDATE=1 writes the bundled files, and the pictures in `docs/pictures` where Chromium
# is. What cannot be had is said, and skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "notice: $*"; exit 0; }
command -v npm >/dev/null 2>&1 || skip "npm is not installed; the page is not checked"
[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --silent >/dev/null 2>&1 || skip "the packages of the page cannot be had; it is not checked"
npx --no-install tsc --noEmit
if [ -n "${UPDATE:-}" ]; then node build.mjs; fi
made=$(mktemp -d)
trap 'kill ${server:-} 2>/dev/null; rm -rf "$made"' EXIT
node build.mjs "$made"
diff -rq "$made" ../cli/page || { echo "cli/page is not what page/ makes: UPDATE=1 page/test/run.sh" >&2; exit 1; }
echo "types and bundle: ok"

browser=${CHROMIUM:-$(command -v chromium || command -v google-chrome || true)}
[ -n "$browser" ] || skip "Chromium is not installed; the stories of the page are not run"
[ -x "${TAPSTER:-}" ] || skip "TAPSTER names no program; the stories of the page are not run"
node test/serve.mjs ../cli/page "$TAPSTER" >"$made/address" &
server=$!
for _ in $(seq 50); do [ -s "$made/address" ] && break; sleep 0.2; done
mkdir -p ../docs/pictures
CHROMIUM=$browser PICTURES=${UPDATE:+../docs/pictures} timeout 1200 node test/stories.mjs "$(cat "$made/address")"
