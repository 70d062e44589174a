"""The list of recipes, and the decorator that enters one into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """One table.

    `refused` is a regular expression for the reason with which the table must be refused, None for a good table. With
    `keeps_times`, the recipe has set the modification times of the commit files and they are part of the test. With
    `kernel_accepts`, delta-kernel opens a table that is refused here; the recipe says why we know better.
    """

    name: str
    make: Callable[[Path], None]
    refused: str | None
    keeps_times: bool
    kernel_accepts: bool

    def manifest(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "refused": self.refused,
            "keeps_times": self.keeps_times,
            "kernel_accepts": self.kernel_accepts,
        }


_RECIPES: list[Recipe] = []


_Make = Callable[[Path], None]


def recipe(
    *, refused: str | None = None, keeps_times: bool = False, kernel_accepts: bool = False
) -> Callable[[_Make], _Make]:
    """Enters a function into the list. Its name, with dashes for underscores, names the table."""

    def enter(make: _Make) -> _Make:
        _RECIPES.append(Recipe(make.__name__.replace("_", "-"), make, refused, keeps_times, kernel_accepts))
        return make

    return enter


def recipes() -> list[Recipe]:
    """All recipes, in the order of their modules."""
    from . import (  # noqa: F401  (each enters its recipes)
        broken,
        checkpoints,
        delta_rs,
        deletions,
        encodings,
        evolution,
        features,
        foreign,
        legacy,
        names,
        partitions,
        paths,
        schemas,
        widening,
    )

    return list(_RECIPES)
