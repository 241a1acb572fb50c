"""Every feature of `tapster lsp`, over the shipped rules and an overlay, as an editor asks for it."""

import json
import os
import pathlib

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXACT = ROOT / "rules" / "sillytavern-exact"
OVERLAY = 'kind = "overlay"\nversion = 2\nname = "tweak"\nextends = "base"\n\n'


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["TAPSTER"], "lsp"]))
async def client(lsp_client: LanguageClient):
    folder = types.WorkspaceFolder(uri=ROOT.as_uri(), name="rules")
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True)
        )
    )
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities, workspace_folders=[folder]))
    yield
    await lsp_client.shutdown_session()


class Document:
    """A file that is open in the editor; `‸` in a text is the cursor."""

    def __init__(self, client, path):
        self.client, self.path, self.uri, self.version = client, path, path.as_uri(), 0

    def type(self, text):
        """The document has this text now; the place of `‸` in it."""
        before, _, after = text.partition("‸")
        self.text = before + after
        self.version += 1
        if self.version == 1:
            item = types.TextDocumentItem(uri=self.uri, language_id="toml", version=1, text=self.text)
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        else:
            changed = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
            whole = types.TextDocumentContentChangeWholeDocument(text=self.text)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=changed, content_changes=[whole]))
        line = before.rsplit("\n", 1)[-1]
        units = len(line.encode("utf-16-le")) // 2
        return {"text_document": types.TextDocumentIdentifier(uri=self.uri), "position": types.Position(line=before.count("\n"), character=units)}

    async def settle(self):
        """Waits until the text was checked: the certain repairs of all of it."""
        whole = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=99_999, character=0))
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=self.uri), range=whole, context=types.CodeActionContext(diagnostics=[])
        )
        return await self.client.text_document_code_action_async(params) or []

    @property
    def diagnostics(self):
        return self.client.diagnostics.get(self.uri, [])

    async def labels(self, text):
        place = self.type(text)
        found = await self.client.text_document_completion_async(types.CompletionParams(**place))
        return [item.label for item in found or []]

    async def hover(self, text):
        place = self.type(text)
        found = await self.client.text_document_hover_async(types.HoverParams(**place))
        return found.contents.value if found else ""


async def test_a_shipped_pack_has_no_mistakes_and_a_new_one_is_shown_and_mended(client, tmp_path):
    document = Document(client, EXACT / "lore.toml")
    text = document.path.read_text()
    document.type(text)
    await document.settle()
    assert not document.diagnostics
    document.type(text + '\n[[pass]]\nname = "lore/typed"\ndo = "drp"\nwhere = { role = "x" }\n')
    actions = await document.settle()
    [mistake] = document.diagnostics
    assert (mistake.code, mistake.source) == ("pass.no_verb", "tapster")
    assert "did you mean `drop`" in mistake.message
    assert mistake.range.start.line == text.count("\n") + 3
    assert [action.title for action in actions][:1] == ["Replace `drp` with `drop`"]
    edit = actions[0].edit.changes[document.uri][0]
    assert edit.new_text == "drop"
    document.type(text)
    await document.settle()
    assert not document.diagnostics


async def test_an_overlay_is_completed(client, tmp_path):
    document = Document(client, tmp_path / "tweak.toml")
    assert "scenario" in await document.labels(OVERLAY + '[[slot]]\nname = "‸"\n')
    assert "source" in await document.labels(OVERLAY + '[[slot]]\nname = "scenario"\n‸\n')
    assert "order" in await document.labels(OVERLAY + '[[pass]]\nname = "build/x"\ndo = "‸"\n')
    pass_ = OVERLAY + '[[pass]]\nname = "build/x"\ndo = "set"\n'
    assert "$context.window" in await document.labels(pass_ + 'set = { a = "$‸" }\n')
    assert "@role" in await document.labels(pass_ + 'set = { a = "@‸" }\n')
    assert "role" in await document.labels(pass_ + 'where = "= ro‸"\n')
    assert "startsWith" in await document.labels(pass_ + 'where = "= text.st‸"\n')
    assert "words" in await document.labels(pass_ + 'set = { a = { fn = "‸" } }\n')
    assert "base" in await document.labels('kind = "overlay"\nversion = 2\nextends = "‸"\n')


async def test_hover_tells_the_value_in_force(client, tmp_path):
    document = Document(client, tmp_path / "tweak.toml")
    document.type(OVERLAY + '[[slot]]\nname = "scenario"\nsource = "$preset.main"\n')
    await document.settle()
    text = await document.hover(OVERLAY + '[[slot]]\nname = "scenario"\nsou‸rce = "$preset.main"\n')
    assert 'in force: `"$preset.main"` (tweak ' in text and "hides: `" in text and "rules/base/slots.toml" in text
    text = await document.hover(OVERLAY + '[[pass]]\nname = "build/x"\ndo = "dr‸op"\n')
    assert text.startswith("**drop**")


async def test_definitions_references_symbols_and_formatting(client, tmp_path):
    document = Document(client, tmp_path / "tweak.toml")
    place = document.type(OVERLAY + '[[slot]]\nname = "sce‸nario"\nformat = "$preset.scenario_format"\n')
    await document.settle()
    found = await client.text_document_definition_async(types.DefinitionParams(**place))
    paths = [pathlib.Path(one.uri.removeprefix("file://")) for one in found]
    assert paths[0].as_posix().endswith("rules/base/slots.toml") and paths[0].is_file() and paths[1] == document.path
    found = await client.text_document_references_async(
        types.ReferenceParams(**place, context=types.ReferenceContext(include_declaration=True))
    )
    assert len(found) >= 2
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(text_document=place["text_document"]))
    assert [symbol.name for symbol in symbols][-1] == "scenario"
    document.type(OVERLAY + "[[slot]]\nname='scenario'\n")
    edits = await client.text_document_formatting_async(
        types.DocumentFormattingParams(text_document=place["text_document"], options=types.FormattingOptions(tab_size=4, insert_spaces=True))
    )
    assert edits[0].new_text.endswith('name = "scenario"\n')


async def test_the_preview_marks_the_rule_under_the_cursor(client, tmp_path):
    document = Document(client, tmp_path / "tweak.toml")
    place = document.type(OVERLAY + '[[slot]]\nname = "main_pro‸mpt"\nrole = "user"\n')
    wanted = {
        "scene": (ROOT / "examples" / "hello").as_uri(),
        "pack": document.uri,
        "textDocument": {"uri": document.uri},
        "position": {"line": place["position"].line, "character": place["position"].character},
    }
    params = types.ExecuteCommandParams(command="tapster.preview", arguments=[wanted | {"pack": None}])
    shown = await client.workspace_execute_command_async(params)
    shown = shown if isinstance(shown, dict) else json.loads(json.dumps(shown, default=lambda one: one._asdict()))
    blocks = shown["blocks"]
    assert any(block["enabled"] and "ledger" in block["text"] for block in blocks)
    assert all({"role", "rule", "pass", "marked"} <= set(block) for block in blocks)


async def test_a_case_is_run_and_a_pass_shows_its_place(client, tmp_path):
    document = Document(client, tmp_path / "polite.toml")
    rows = '[[program]]\nname = "polite"\nlist = "blocks"\n\n[[pass]]\nname = "polite/role"\ndo = "set"\nset = { role = "user" }\n'
    document.type(OVERLAY + rows)
    params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=document.uri))
    titles = [lens.command.title for lens in await client.text_document_code_lens_async(params)]
    assert titles == ["pass 1 of 1 of `polite`"]
    cases = Document(client, tmp_path / "cases.toml")
    case = '[[case]]\nname = "a"\nrun = "polite"\nlists.blocks = [{ id = "x" }]\nexpect.lists.blocks = [{ id = "x", role = "system" }]\n'
    cases.type('kind = "case"\nversion = 2\npack = "base"\n' + rows + case)
    params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=cases.uri))
    [lens] = await client.text_document_code_lens_async(params)
    assert lens.command.title == "Run"
    run = types.ExecuteCommandParams(command=lens.command.command, arguments=lens.command.arguments)
    await client.workspace_execute_command_async(run)
    [lens] = await client.text_document_code_lens_async(params)
    assert lens.command.title == "Run: failed (1 difference)"
    assert any("case `a`" in message.message for message in client.messages)


async def test_a_patch_shows_what_it_inherits_and_a_row_is_renamed(client, tmp_path):
    document = Document(client, tmp_path / "tweak.toml")
    facts = '[[fact]]\nname = "calm"\nover = "message"\nis = { role = "user" }\n\n[[fact]]\nname = "calmer"\nover = "message"\nis = { fact = "ca‸lm", text = "x" }\n'
    place = document.type(OVERLAY + '[[slot]]\nname = "scenario"\nformat = "$preset.scenario_format"\n\n' + facts)
    whole = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=99, character=0))
    found = await client.text_document_inlay_hint_async(types.InlayHintParams(text_document=place["text_document"], range=whole))
    [hint] = found
    assert hint.position.line == 5 and hint.label.startswith("inherits ")
    assert "rules/base/slots.toml" in hint.tooltip.value
    ready = await client.text_document_prepare_rename_async(types.PrepareRenameParams(**place))
    assert ready.placeholder == "calm"
    edit = await client.text_document_rename_async(types.RenameParams(**place, new_name="serene"))
    places = [change for changes in (edit.changes or {}).values() for change in changes]
    assert [change.new_text for change in places] == ["serene", "serene"]
    assert [change.range.start.line for change in places] == [10, 17]


async def test_many_keystrokes_are_answered(client):
    document = Document(client, EXACT / "prompts.toml")
    text = document.path.read_text()
    for end in range(0, len(text), max(1, len(text) // 60)):
        await document.labels(text[:end] + "‸")
    document.type(text)
    await document.settle()
    assert not document.diagnostics


async def test_a_preset_is_examined(client, tmp_path):
    path = tmp_path / "preset.json"
    prompts = [
        {"identifier": "main", "name": "Main", "role": "system", "content": "Be {{chra}}."},
        {"identifier": "spare", "name": "Spare", "role": "system", "content": "Never sent."},
    ]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}, {"identifier": "spare", "enabled": False}]}]
    document = Document(client, path)
    document.type(json.dumps({"chat_completion_source": "openai", "openai_max_context": 4095, "prompts": prompts, "prompt_order": order}, indent=2))
    await document.settle()
    codes = {one.code for one in document.diagnostics}
    assert {"macro.unknown", "part.off"} <= codes, document.diagnostics
