"""Save claims in the metadata of notebook outputs, and load them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.compare import Comparison, Verdict

_NAME = "whimbrel.claims"
"""The key in the metadata of a cell's output, the only part of a notebook that a kernel may write."""


_PLAIN = (str, int, float, type(None))


class Verdicts(list[Verdict]):
    """The state of claims; at the end of a notebook's cell, they are saved with the notebook."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"text/plain": repr(self)}, {_NAME: json.loads(written(verdict.claim for verdict in self))}


def written(claims: Iterable[Comparison]) -> str:
    """Claims as JSON, except those with keys that JSON cannot hold, such as times."""
    return json.dumps([vars(claim) for claim in claims if all(
        isinstance(key, _PLAIN) for row in (claim.left, claim.right) for key in row.values())])


def read(text: str) -> list[Comparison]:
    """The claims in a text that :func:`written` returned."""
    return [_claim(saved) for saved in json.loads(text)]


def claims_in(path: Path, where: str) -> list[Comparison]:
    """The claims in the outputs of a saved notebook, each once.

    Raises
    ------
    PlanError
        When it is not a notebook, or has no claims.
    """
    try:
        notebook = json.loads(path.read_text("utf-8"))
        found = [_claim(saved) for cell in notebook["cells"]
                 for output in cell.get("outputs", ()) for saved in output.get("metadata", {}).get(_NAME, ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError(f"Cannot read claims from the notebook: {' '.join(str(error).split())[:120]}.", where=where,
                        hint="Give the path of a saved notebook.") from None
    if not found:
        raise PlanError("No cell of the notebook shows claims.", where=where,
                        hint="End a cell with the claims of a progressive query (query.claims), and save the notebook.")
    return [claim for place, claim in enumerate(found) if claim not in found[:place]]


def _claim(saved: dict[str, Any]) -> Comparison:
    return Comparison(str(saved["value"]), dict(saved["left"]), dict(saved["right"]), float(saved["difference"]),
                      float(saved["confidence"]))
