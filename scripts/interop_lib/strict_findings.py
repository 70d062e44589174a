"""What a file says of itself, field by field, and what is found to be wrong with it."""

from __future__ import annotations

from typing import Any

from make_tables_lib.footer import Struct


class Findings:
    """What is wrong with a file of the bytes `data`, each behind the place that is looked at.

    With `presented` it is one that deltafs put together, from which more is asked. `used` are the byte ranges that
    something lies in.
    """

    def __init__(self, data: bytes, presented: bool):
        self.data, self.presented = data, presented
        self.wrong: list[str] = []
        self.place = "footer"
        self.used: list[tuple[int, int, str]] = [(0, 4, "magic")]

    def expect(self, good: bool, text: str) -> None:
        if not good:
            self.wrong.append(f"{self.place}: {text}")

    def same(self, said: Any, found: Any, what: str) -> None:
        if said != found:
            self.wrong.append(f"{self.place}: {what} is {said!r}, and found is {found!r}")


def get(s: Struct | None, number: int, default: Any = None) -> Any:
    """The value of a field, of a list its elements."""
    if s is None or number not in s:
        return default
    kind, value = s[number]
    return value[1] if kind in (9, 10) else value
