import os
from typing import Any, Iterable, Literal, Mapping, Sequence, TypedDict, Union

__version__: str

class _Named(TypedDict):
    name: str

class FileContent(_Named, total=False):
    text: str
    base64: str
    json: Any

class OverlayText(TypedDict):
    name: str
    text: str

class PackContent(TypedDict):
    name: str
    files: Mapping[str, str]

Path = Union[str, "os.PathLike[str]"]
File = Union[Path, FileContent]
Overlay = Union[Path, OverlayText]
Diagnostic = dict[str, Any]

class Scene(TypedDict, total=False):
    character: File
    preset: Union[File, Sequence[File]]
    chat: File
    lorebooks: Union[File, Sequence[File]]
    persona: str
    persona_file: File
    message: str
    dialect: str
    type: Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]
    seed: str
    draws: Sequence[float]
    now: str
    strict: bool
    option: Mapping[str, Any]
    scene: Mapping[str, Any]

class Error(Exception):
    diagnostics: list[Diagnostic]
    def __init__(self, diagnostics: list[Diagnostic]) -> None: ...

class Prompt:
    payload: dict[str, Any]
    request: dict[str, Any]
    dialect: str
    patch: Any
    diagnostics: list[Diagnostic]
    plan: Any
    trace: Any

class Rules:
    pack: str
    release: Union[str, None]
    fingerprint: str
    dialects: list[str]
    diagnostics: list[Diagnostic]
    def build(self, scene: Union[Scene, None] = None, *, plan: bool = False, trace: bool = False, **keys: Any) -> Prompt: ...
    def emit(self, scene: Union[Scene, None] = None, *, dialects: Iterable[str] = (), **keys: Any) -> dict[str, Any]: ...
    def explain(self, scene: Union[Scene, None] = None, *, about: Any = "blocks", **keys: Any) -> Any: ...
    def check(self, scene: Union[Scene, None] = None, **keys: Any) -> list[Diagnostic]: ...
    def options(self, **values: Any) -> dict[str, Any]: ...
    def diff(self, other: Union[Rules, str], scene: Union[Scene, None] = None, **keys: Any) -> dict[str, Any]: ...
    def call(self, name: str, **arguments: Any) -> Any: ...
    def close(self) -> None: ...
    def __enter__(self) -> Rules: ...
    def __exit__(self, *_: object) -> None: ...

class Door:
    def __init__(self, folders: Iterable[Path] = ()) -> None: ...
    def call_text(self, request: bytes) -> str: ...
    def call(self, request: Mapping[str, Any]) -> dict[str, Any]: ...
    def open(self, pack: str = "base", *, overlays: Iterable[Overlay] = (), packs: Iterable[PackContent] = ()) -> Rules: ...
    def put(self, file: File) -> str: ...

def call(request: Mapping[str, Any]) -> dict[str, Any]: ...
def put(file: File) -> str: ...
def open(
    pack: str = "base",
    *,
    overlays: Iterable[Overlay] = (),
    packs: Iterable[PackContent] = (),
    folders: Iterable[Path] = (),
) -> Rules: ...
