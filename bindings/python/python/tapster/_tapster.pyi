from typing import Sequence, final

VERSION: str

@final
class Door:
    def __new__(cls, folders: Sequence[str]) -> Door: ...
    def call_text(self, request: bytes) -> str: ...
