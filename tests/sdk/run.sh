#!/usr/bin/env bash
# Checks our wire formats against the vendors' own SDKs: `tests/sdk/run.sh`.
#
# Each case of cases/ is a call. The SDK makes it against a server on this machine that gives the replies of the case.
# What the SDK sent and what it read is compared with recorded/, which `cargo test --test all sending::reading` compares
# with what our dialects send and read. `UPDATE=1 tests/sdk/run.sh` writes recorded/ anew.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "skipped: node and npm are not installed"
  exit 0
fi
work="${TMPDIR:-/tmp}/tapster-sdk"
mkdir -p "$work"
cp package.json check.mjs "$work/"
(cd "$work" && npm install --silent --no-audit --no-fund --ignore-scripts)
node "$work/check.mjs" "$PWD"
