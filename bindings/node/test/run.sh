#!/usr/bin/env bash
# Builds the package for Node and tests it; RELEASE=1: as it is handed out. `UPDATE=1` writes door.d.ts.
set -euo pipefail
cd "$(dirname "$0")/../../.."
has() { command -v "$1" >/dev/null 2>&1; }
if ! has node || ! has cargo || [ "$(node -p 'parseInt(process.versions.node)')" -lt 18 ]; then
  echo "notice: cargo and Node 18 are needed; the package for Node is not tested"
  exit 0
fi
if [ -n "${RELEASE:-}" ]; then
  cargo build --locked --quiet --release -p tapster-c -p tapster-node -p tapster-python
else
  # as `.ci/run` builds, so that a gate compiles nothing twice
  cargo build --locked --quiet --workspace --exclude tapster-fuzz
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package="$work/node_modules/@tapster/engine"
mkdir -p "$package"
cp bindings/node/{package.json,index.js,index.d.ts,door.d.ts} "$package/"
missing=$(node -e 'require(process.argv[1])' "$package" 2>&1 || true)
grep -q 'install the package `@tapster/engine-' <<<"$missing" || { echo "a missing library is not named: $missing"; exit 1; }
libraries="${CARGO_TARGET_DIR:-target}/$([ -n "${RELEASE:-}" ] && echo release || echo debug)"
cp "$({ ls "$libraries"/{libtapster_node.{so,dylib},tapster_node.dll} 2>/dev/null || true; } | head -1)" "$package/tapster.node"
sed -n '/^```js$/,/^```$/{/^```/!p}' docs/how-to/from-python-or-node.md >"$work/page.mjs"
node "$work/page.mjs" | grep -xF "pack base" >/dev/null
PACKAGE="$package" node bindings/node/test/test.mjs

if ! has npm || ! (cd "$work" && npm install --silent --no-audit --no-fund --no-save --ignore-scripts json-schema-to-typescript@16 typescript@5 >/dev/null 2>&1); then
  echo "notice: json-schema-to-typescript cannot be installed; the types are not compared with the schema"
  exit 0
fi
[ -d "$package" ] || { mkdir -p "$package" && cp bindings/node/{package.json,index.js,index.d.ts,door.d.ts} "$package/"; }
cp bindings/node/test/types.ts "$work/"
types="$PWD/bindings/node/types.mjs"
cd "$work"
if [ -n "${UPDATE:-}" ]; then node "$types"; else node "$types" --check; fi
node_modules/.bin/tsc --noEmit --strict --skipLibCheck false --module nodenext --moduleResolution nodenext types.ts
echo "types: ok"
