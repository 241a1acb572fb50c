"""A session in Neovim 0.11 or later with the lines of docs/how-to/editor.md; skipped without one."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "how-to" / "editor.md"


@pytest.mark.skipif(not shutil.which("nvim"), reason="Neovim is not installed")
def test_a_session_in_neovim(tmp_path):
    pack = tmp_path / "mine"
    pack.mkdir()
    manifest = 'name = "mine"\nrelease = "0.1.0"\nengine = ">=0.1"\nlicence = "MIT"\nextends = [{ name = "base" }]\n'
    (pack / "pack.toml").write_text('kind = "pack"\nversion = 1\n' + manifest)
    (pack / "rows.toml").write_text("")
    (tmp_path / "scene.toml").write_text('pack = "mine"\nmessage = "Hello."\n')
    blocks = re.findall(r"```lua\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 2
    (tmp_path / "settings.lua").write_text("\n".join(blocks))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tapster").symlink_to(os.environ["TAPSTER"])
    seen = tmp_path / "seen"
    env = os.environ | {"TAPSTER_FOLDER": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for name in ["CONFIG", "DATA", "STATE"]:
        env[f"XDG_{name}_HOME"] = str(tmp_path / name)
    ran = subprocess.run(["nvim", "--headless", "-u", "NONE", "-S", str(HERE / "neovim.lua")], env=env, capture_output=True, timeout=60)
    assert seen.is_file(), ran.stderr.decode()
    assert seen.read_text().splitlines() == [
        "client: tapster",
        "diagnostic: 5 schema.unknown_key",
        "completes role: true",
        "hover: **scenario** (slot)",
        "action: Replace `rol` with `role`",
        'line: role = "user"',
        "diagnostics left: 0",
        "preview has the message: true",
    ]
