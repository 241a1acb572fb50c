#!/usr/bin/env bash
# Builds the engine as WebAssembly, where its compiler can be had, and tests it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
has() { command -v "$1" >/dev/null 2>&1; }
if ! has node || ! node -e 'process.exit(process.getBuiltinModule ? 0 : 1)'; then
  echo "notice: Node 20.16 is needed; the engine as WebAssembly is not tested"
  exit 0
fi
built=$PWD/target/wasm code=0
bindings/wasm/build "$built" || code=$?
if [ "$code" = 3 ]; then
  echo "notice: the engine as WebAssembly is not tested"
  exit 0
fi
[ "$code" = 0 ] || exit "$code"
ls -s --block-size=K "$built"/tapster.wasm*
WASM=$built/tapster.wasm node --test-reporter=spec bindings/wasm/test/test.mjs

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$built/tapster.wasm.gz" bindings/wasm/tapster.mjs crates/text/src/text/tables/cl100k.tokens "$work/"
sed -n '/^```mjs$/,/^```$/{/^```/!p}' docs/how-to/from-python-or-node.md >"$work/page.mjs"
node "$work/page.mjs" | grep -F "Hello." >/dev/null
if ! has npm || ! (cd "$work" && npm install --silent --no-audit --no-fund --no-save --ignore-scripts typescript@5 >/dev/null 2>&1); then
  echo "notice: typescript cannot be installed; the types are not tried"
  exit 0
fi
"$work/node_modules/.bin/tsc" --noEmit --strict --skipLibCheck false --target es2022 --lib es2024,dom --module nodenext --moduleResolution nodenext bindings/wasm/test/types.mts
echo "types: ok"
