"""Names, docstrings, errors, labels and pages use the terms of the glossary; open findings may only become fewer."""

from __future__ import annotations

import ast

import pytest

from tests.house import debt, glossary, texts

PAGE = """
| Term | Definition | Not in prose | Not in names |
|---|---|---|---|
| offset | A position. | `place to go on from`, spot | `place`, `=words` |
"""
SAMPLE = glossary.read(PAGE)
KINDS = ("names", "docstrings", "errors", "labels", "pages", "docstring_sentences", "page_sentences", "cycles",
         "class_names")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_worse_than_the_debt_file_says(kind: str) -> None:
    found = {kind: debt.findings().get(kind, {})}
    allowed = {kind: debt.allowed().get(kind, {})}
    assert debt.risen(found, allowed) == []
    if fallen := debt.fallen(found, allowed):
        print("better than before; python scripts/update_debt.py writes it:", *fallen, sep="\n  ")
    assert not fallen, "python scripts/update_debt.py"


def test_the_debt_file_has_known_kinds() -> None:
    assert debt.allowed().keys() <= set(KINDS)


def test_what_rises_and_what_falls_is_named() -> None:
    found = {"names": {"a.py": ["1: place"], "b.py": ["1: told"]}}
    assert debt.risen(found, {"names": {"b.py": 1}}) == ["a.py: 1 names, allowed 0:\n    1: place"]
    assert debt.risen(found, {"names": {"a.py": 1, "b.py": 1}}) == []
    assert debt.fallen(found, {"names": {"a.py": 2, "b.py": 1}, "errors": {"c.py": 1}}) == [
        "a.py: 1 names, written 2", "c.py: 0 errors, written 1"]


def test_the_glossary_bans_what_it_should() -> None:
    whole = glossary.read(glossary.GLOSSARY.read_text(encoding="utf-8"))
    assert whole.phrases["seam"] == "cutover"
    assert whole.parts["frontier"] == "watermark"
    assert whole.whole["share"] == "fraction"


@pytest.mark.parametrize(("name", "banned"), [
    ("place", ["place"]), ("the_places_of", []), ("FirstPlace", ["place"]), ("replace", []), ("PLACE_ROWS", ["place"]),
    ("words", ["words"]), ("key_words", []),
])
def test_banned_names_are_found(name: str, banned: list[str]) -> None:
    assert [word for word, _ in SAMPLE.in_name(name)] == banned


@pytest.mark.parametrize(("name", "banned"), [
    ("DeadLetterQueue", []), ("dead_letters", []), ("letters", ["letters"]), ("dead_letters_of_letter", ["letter"]),
    ("max_ahead", []), ("read_ahead", []), ("ahead_ticks", ["ahead"]),
])
def test_standard_terms_may_contain_a_banned_part(name: str, banned: list[str]) -> None:
    whole = glossary.read(glossary.GLOSSARY.read_text(encoding="utf-8"))
    assert [word for word, _ in whole.in_name(name)] == banned


@pytest.mark.parametrize(("text", "count"), [
    ("A place to go\n    on from.", 1), ("A place.", 0), ("a spot", 0), ("`place to go on from`", 0),
])
def test_banned_phrases_are_found(text: str, count: int) -> None:
    assert len(list(SAMPLE.in_text(text))) == count


CODE = '''"""Module."""
class Shown:
    """A class."""
    field: int
    """A field."""
    def act(self, given, _hidden): ...
    def _own(self, unseen): ...
def load(path):
    raise PlanError(f"No {path}" if path else "empty", hint="such as 5")
WIDGET = Button(name="Go", css="x")
STATE = "two words"
'''


def test_texts_are_distinguished_by_kind() -> None:
    tree = ast.parse(CODE)
    assert [name for _, name in texts.public_names(tree)] == [
        "Shown", "field", "act", "self", "given", "load", "path", "WIDGET", "STATE"]
    assert sorted(text for _, text in texts.docstrings(tree)) == ["A class.", "A field.", "Module."]
    assert [(part, text) for _, part, text in texts.error_texts(tree)] == [
        ("what", "No {}"), ("what", "empty"), ("hint", "such as 5")]
    assert sorted(text for _, text in texts.labels(tree)) == ["Go", "two words"]


def test_code_and_allowed_lines_are_no_prose() -> None:
    page = ("Seen `code`.\n```py\nhidden\n```\nkept <!-- word allowed: a quotation -->\nlast\n"
            "<!-- words allowed from here: quotations -->\nx\n<!-- words allowed to here -->\nend")
    assert [line.split() for _, line in texts.prose(page) if line.split()] == [["Seen", "."], ["last"], ["end"]]


def test_of_a_notebook_only_prose_cells_count() -> None:
    assert texts.notebook_prose("# %% [markdown]\n# Prose.\n# %%\n# code").split() == ["Prose."]


@pytest.mark.parametrize(("part", "text", "faults"), [
    ("what", "every=0 is no period.", 1), ("what", "There is no column x.", 0), ("what", "it is no longer there", 0),
    ("what", "queue_rows=0 cannot be.", 1), ("what", "x cannot be read", 0),
    ("hint", 'such as "5m"', 1), ("hint", 'Use a duration such as "5m".', 0),
])
def test_patterns_of_bad_errors_are_found(part: str, text: str, faults: int) -> None:
    assert len(list(debt.error_faults(part, text))) == faults


def test_a_class_name_in_two_modules_is_found() -> None:
    trees = {file: ast.parse("class Same: ...\nclass _Own: ...") for file in ("a.py", "b.py")}
    assert debt.class_homes(trees) == {"Same": ["a.py", "b.py"]}
