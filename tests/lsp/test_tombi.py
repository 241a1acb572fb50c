"""Tombi accepts the shipped rule files with the settings that `tapster new` writes, and its server leaves mistakes to `tapster lsp`;
skipped without Tombi."""

import asyncio
import os
import pathlib
import shutil
import subprocess

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
MISTAKE = f"#:schema {ROOT}/editors/overlay.v2.json\n" + 'kind = "overlay"\nversion = 2\nname = "tweak"\n\n[[slot]]\nname = "scenario"\nrol = "user"\n'

pytestmark = pytest.mark.skipif(not shutil.which("tombi"), reason="Tombi is not installed")


def lint(folder, *files):
    ran = subprocess.run(["tombi", "lint", "--offline", "--error-on-warnings", *files], cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture
def pack(tmp_path):
    subprocess.run([os.environ["TAPSTER"], "new", "pack", "mine", "--to", tmp_path], check=True, capture_output=True)
    return tmp_path / "mine"


def test_shipped_rules_have_no_warnings(pack):
    assert (pack / ".tombi.toml").read_text() == (ROOT / ".tombi.toml").read_text()
    count = sum(1 for folder in ["rules", "examples"] for _ in (ROOT / folder).rglob("*.toml"))
    code, said = lint(ROOT, "rules", "examples")
    assert code == 0 and f"{count} files linted successfully" in said, said
    assert "arning" not in said, said


def test_a_new_pack_has_no_warnings_and_a_mistake_is_found(pack):
    code, said = lint(pack, ".")
    assert code == 0, said
    (pack / "tweak.toml").write_text(MISTAKE)
    code, said = lint(pack, ".")
    assert code == 1 and '"rol" is not allowed' in said, said


@pytest_lsp.fixture(config=ClientServerConfig(server_command=["tombi", "lsp", "--offline"]))
async def client(lsp_client: LanguageClient):
    # Tombi asks for these whatever the editor says that it can
    lsp_client.feature("client/registerCapability")(lambda params: None)
    lsp_client.feature("workspace/workspaceFolders")(lambda params: [])
    await lsp_client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=ROOT.as_uri()))
    yield
    await lsp_client.shutdown_session()


async def test_the_server_of_tombi_repeats_nothing(client, pack, tmp_path):
    with_settings, without = pack / "tweak.toml", tmp_path / "tweak.toml"
    for path in [with_settings, without]:
        path.write_text(MISTAKE)
        document = types.TextDocumentItem(uri=path.as_uri(), language_id="toml", version=1, text=MISTAKE)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))

    async def said(path):
        at = types.HoverParams(text_document=types.TextDocumentIdentifier(uri=path.as_uri()), position=types.Position(line=6, character=1))
        return bool(await client.text_document_hover_async(at)), len(client.diagnostics.get(path.as_uri(), []))

    # its schemas are read in the background
    for _ in range(200):
        if await said(without) == (True, 1):
            break
        await asyncio.sleep(0.1)
    assert await said(without) == (True, 1)
    assert await said(with_settings) == (False, 0)
