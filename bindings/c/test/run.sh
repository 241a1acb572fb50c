#!/usr/bin/env bash
# Builds the library in C and tests it; RELEASE=1: as it is handed out. `UPDATE=1` writes include/tapster.h by cbindgen.
set -euo pipefail
cd "$(dirname "$0")/../../.."
has() { command -v "$1" >/dev/null 2>&1; }
if ! has cc || ! has cargo; then
  echo "notice: cc and cargo are needed; the library in C is not tested"
  exit 0
fi
if [ -n "${RELEASE:-}" ]; then
  cargo build --locked --quiet --release -p tapster-c -p tapster-node -p tapster-python
else
  # as `.ci/run` builds, so that a gate compiles nothing twice
  cargo build --locked --quiet --workspace --exclude tapster-fuzz
fi
libraries="$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/$([ -n "${RELEASE:-}" ] && echo release || echo debug)"
library=$({ ls "$libraries"/libtapster.{so,dylib} 2>/dev/null || true; } | head -1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd bindings/c
if has cbindgen; then
  cbindgen --quiet --config cbindgen.toml src/lib.rs -o "$work/tapster.h"
  [ -z "${UPDATE:-}" ] || cp "$work/tapster.h" include/tapster.h
  diff include/tapster.h "$work/tapster.h" || { echo "include/tapster.h is old: UPDATE=1 bindings/c/test/run.sh writes it"; exit 1; }
else
  echo "notice: cbindgen is not installed; only the names of the header are compared"
  names() { grep -o "tapster_[a-z_]*(" "$1" | sort -u; }
  diff <(grep -A1 no_mangle src/lib.rs | grep -o "tapster_[a-z_]*(" | sort) <(names include/tapster.h)
fi

for source in examples/build.c test/test.c; do
  version=$(sed -n '/workspace.package/,/^$/s/^version = "\(.*\)"/\1/p' ../../Cargo.toml)
  cc -std=c11 -Wall -Wextra -Werror -g "-DVERSION=\"$version\"" -I include "$source" -L "$libraries" -ltapster -lpthread \
    -Wl,-rpath,"$libraries" -o "$work/$(basename "$source" .c)"
done
"$work/test"
payload='{"messages":[{"role":"user","content":"Hello.","name":"User"}]}'
"$work/build" | grep -xF "$payload" >/dev/null
echo "examples/build.c: ok"
if has valgrind; then
  valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$work/build" >/dev/null
  echo "valgrind: ok"
else
  echo "notice: valgrind is not installed; leaks are not looked for"
fi
if has python3; then
  python3 test/conformance.py "$library"
else
  echo "notice: python3 is not installed; the conversations of tests/door are not asked"
fi
if has npm && cp examples/koffi.mjs "$work/" && (cd "$work" && npm install --silent --no-audit --no-fund koffi@3 >/dev/null 2>&1); then
  (cd "$work" && node koffi.mjs "$library") | grep -xF "$payload" >/dev/null
  echo "examples/koffi.mjs: ok"
else
  echo "notice: koffi cannot be installed; examples/koffi.mjs is not run"
fi
