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
KINDS = ("names", "docstrings", "comments", "errors", "labels", "pages", "docstring_sentences", "page_sentences",
         "cycles", "class_names")


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
    def act(self, given, *rest, _hidden):
        local = 1
        self.stored, self._kept = given, local
    def _own(self, unseen): ...
if sys.platform == "win32":
    def load(path):
        raise PlanError(f"No {path}" if path else "empty", hint="such as 5")
WIDGET = Button(name="Go", css="x")
STATE = "two words"
'''


def test_texts_are_distinguished_by_kind() -> None:
    tree = ast.parse(CODE)
    assert [name for _, name, private in texts.names(tree) if not private] == [
        "Shown", "field", "act", "self", "given", "rest", "stored", "load", "path", "WIDGET", "STATE"]
    assert [name for _, name, private in texts.names(tree) if private] == ["_hidden", "_kept", "_own", "self", "unseen"]
    assert sorted(text for _, _, text in texts.docstrings(tree)) == ["A class.", "A field.", "Module."]
    assert [(part, text) for _, part, text in texts.error_texts(tree)] == [
        ("what", "No {}"), ("what", "empty"), ("hint", "such as 5")]
    assert sorted(text for _, text in texts.labels(tree)) == ["Go", "two words"]


@pytest.mark.parametrize("code", [
    "def load():\n    what = f'No {path}.'\n    raise PlanError(what)",
    "WHAT = 'No {}.'\ndef load():\n    raise PlanError(WHAT)",
    "raise PlanError('No {path}.'.format(path=path))",
    "raise PlanError('No %s.' % path)",
    "WHAT = {1: 'No {}.'}\nraise PlanError(WHAT[1])",
    "refuse(lambda row: f'No {row}.', hint='')",
    "def load():\n    if (what := 'No {}.'):\n        raise PlanError(what or '')",
])
def test_texts_of_errors_are_found_where_they_stand(code: str) -> None:
    assert "No {}." in [text for _, _, text in texts.error_texts(ast.parse(code))]


def test_a_variable_of_another_function_is_no_text_of_an_error() -> None:
    code = "def one():\n    what = 'One.'\ndef two(what):\n    raise PlanError(what)"
    assert list(texts.error_texts(ast.parse(code))) == []


@pytest.mark.parametrize(("code", "labels"), [
    ("self._stop = self._button('Stop run', act)", ["Stop run"]),
    ("TipButton(label='Stop run', css='x')", ["Stop run"]),
    ("self._stop = Button('Stop run')\ntouch(self._stop, 'label', 'Run' if ended else 'Stop run')",
     ["Stop run", "Run", "Stop run"]),
    ("self._stop = Button('Stop run')\nself._stop.label = 'Run'\nself._text.label = 'x'", ["Stop run", "Run"]),
])
def test_labels_of_buttons_are_found(code: str, labels: list[str]) -> None:
    assert sorted(text for _, text in texts.buttons(ast.parse(code))) == sorted(labels)
    assert {text for _, text in texts.labels(ast.parse(code))} >= set(labels)


@pytest.mark.parametrize(("label", "faults"), [("Stop run", 0), ("▶ Stop run", 0), ("Pause", 0), ("Step", 1),
                                               ("Stop the run", 1), ("{} {}", 0)])
def test_buttons_have_two_words(label: str, faults: int) -> None:
    assert len(list(debt.button_faults(label))) == faults


def test_comments_are_those_of_python() -> None:
    code = 'x = 1  # a place to go on from\ny = "# a text"\n'
    assert list(texts.comments(code)) == [(1, "# a place to go on from")]
    assert [word for _, text in texts.comments(code) for word, _ in SAMPLE.in_text(text)] == ["place to go on from"]


def test_only_a_comment_allows_a_word() -> None:
    code = '"""Title; word allowed: because."""\nx = 1  # word allowed: because\ny = "# word allowed: because"\n'
    assert texts.allowed_lines(code) == {2}


def test_ordinary_words_may_stand_in_private_names() -> None:
    whole = glossary.read(glossary.GLOSSARY.read_text(encoding="utf-8"))
    assert {word for word in glossary.ORDINARY if word not in whole.parts.keys() | whole.whole.keys()} == set()
    assert list(whole.in_name("_look_at", private=True)) == []
    assert [word for word, _ in whole.in_name("_frontier", private=True)] == ["frontier"]


@pytest.mark.parametrize(("file", "banned"), [
    ("docs/how-to/first-place.md", ["place"]), ("docs/a-spot.md", []), ("docs/place-to-go-on-from.md", ["place"] * 2),
])
def test_names_of_pages_are_checked(file: str, banned: list[str]) -> None:
    assert [word.split()[0] for word, _ in debt.file_faults(file, SAMPLE)] == banned


def test_a_phrase_is_found_across_a_line_break() -> None:
    page = "# Title\n\nA first line has a place to\n  go on from. End.\n- a place to go\n- on from\n"
    found = [(line, word) for block in texts.blocks(page) for line, word, _ in SAMPLE.in_lines(block)]
    assert found == [(3, "place to go on from")]


def test_a_line_that_is_left_out_ends_a_block() -> None:
    page = "a place to\nkept <!-- word allowed: a quotation -->\ngo on from"
    assert [[line for line, _ in block] for block in texts.blocks(page)] == [[1], [3]]


def test_code_and_allowed_lines_are_no_prose() -> None:
    page = ("Seen `code`.\n```py\nhidden\n```\nkept <!-- word allowed: a quotation -->\nlast\n"
            "<!-- words allowed from here: quotations -->\nx\n<!-- words allowed to here -->\nend")
    assert [line.split() for _, line in texts.prose(page) if line.split()] == [["Seen", "."], ["last"], ["end"]]


def test_of_a_notebook_only_prose_cells_count() -> None:
    assert texts.notebook_prose("# %% [markdown]\n# Prose.\n# %%\n# code").split() == ["Prose."]


@pytest.mark.parametrize(("part", "text", "faults"), [
    ("what", "every=0 is no period.", 1), ("what", "There is no column x.", 0), ("what", "it is no longer there", 0),
    ("what", "queue_rows=0 cannot be.", 1), ("what", "queue_rows cannot be, got 0", 1), ("what", "x cannot be read", 0),
    ("hint", 'such as "5m"', 1), ("hint", 'Use a duration such as "5m".', 0), ("hint", 'For example "5m".', 1),
    ("hint", "columns: a, b", 1), ("hint", "Known columns: a, b", 1), ("hint", "Use one of these: a, b", 0),
    ("hint", "Rename it: .rename(a='b').", 0),
])
def test_patterns_of_bad_errors_are_found(part: str, text: str, faults: int) -> None:
    assert len(list(debt.error_faults(part, text))) == faults


def test_a_class_name_in_two_modules_is_found() -> None:
    trees = {file: ast.parse("class Same: ...\nclass _Own: ...") for file in ("a.py", "b.py")}
    assert debt.class_homes(trees) == {"Same": ["a.py", "b.py"]}
