#!/usr/bin/env bash
# Builds the package for Python and tests it; RELEASE=1: the wheel that is handed out, if maturin can be installed, for each Python of PYTHONS.
set -euo pipefail
cd "$(dirname "$0")/../../.."
has() { command -v "$1" >/dev/null 2>&1; }
if ! has python3 || ! has cargo || ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
  echo "notice: cargo and Python 3.9 are needed; the package for Python is not tested"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${RELEASE:-}" ]; then
  if ! { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9.4,<2"; }; then
    echo "notice: maturin cannot be installed; the package for Python is not tested"
    exit 0
  fi
  "$work/venv/bin/maturin" build --quiet --release --locked --manifest-path bindings/python/Cargo.toml --out "$work"
  ls -s --block-size=K "$work"/*.whl
  python3 -m zipfile -e "$work"/*.whl "$work/package"
else
  # as `.ci/run` builds, so that a gate compiles nothing twice
  cargo build --locked --quiet --workspace --exclude tapster-fuzz
  mkdir "$work/package"
  cp -r bindings/python/python/tapster "$work/package/"
  library=$(cd "${CARGO_TARGET_DIR:-target}/debug" && { ls lib_tapster.{so,dylib} _tapster.dll 2>/dev/null || true; } | head -1)
  # as Python on this system names modules
  case "$library" in *.dll) module=_tapster.pyd ;; *) module=_tapster.abi3.so ;; esac
  cp "${CARGO_TARGET_DIR:-target}/debug/$library" "$work/package/tapster/$module"
fi
for python in ${PYTHONS:-python3}; do
  echo "$("$python" --version):"
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$work/package" "$python" bindings/python/test/test.py
done
