"""What the language checks find today, by kind and file, and what the debt file still allows.

``python scripts/update_debt.py`` writes the debt file again; it never lets a count rise.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from tests.house import glossary, imports, sentences, texts

FILE = Path(__file__).parent / "vocabulary_debt.toml"
ERROR_PATTERNS = {
    "is no ...": re.compile(r"(?<!here )\bis no\b(?! longer)"),
    "cannot be.": re.compile(r"\bcannot be(?=\s*(?:[.,;:)]|$))"),
}
NO_INSTRUCTION = re.compile(r"(such as|for example|for instance|e\.g\.|as in)\b|"
                            r"((its|the|all|known|valid|allowed|available|possible) )?[a-z_]+: ", re.IGNORECASE)
"""Begins a hint that is an example or a list, without a verb."""
BUTTON_WORDS = 2
ONE_WORD = {"Pause", "Resume"}
"""Labels of buttons that need no object: the toolbar around them is that of the run."""
HEAD = """# Findings that are still open, by kind and file. A count may only fall.
# Write it with: python scripts/update_debt.py
"""
Findings = dict[str, dict[str, list[str]]]
Counts = dict[str, dict[str, int]]


@functools.cache
def findings() -> Findings:
    """All findings: kind, file, one line each."""
    found = Findings()
    for kind, file, finding in _all():
        found.setdefault(kind, {}).setdefault(file, []).append(finding)
    return found


def counts(found: Findings) -> Counts:
    """How many findings each file has."""
    return {kind: {file: len(lines) for file, lines in files.items()} for kind, files in found.items()}


def allowed() -> Counts:
    """What the debt file allows."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def written(debt: Counts) -> str:
    """Text of the debt file."""
    tables = (f'\n[{kind}]\n' + "".join(f'"{file}" = {count}\n' for file, count in sorted(files.items()))
              for kind, files in sorted(debt.items()) if files)
    return HEAD + "".join(tables)


def risen(found: Findings, debt: Counts) -> list[str]:
    """Findings of files that have more of them than the debt allows."""
    return [f"{file}: {len(lines)} {kind}, allowed {debt.get(kind, {}).get(file, 0)}:\n    " + "\n    ".join(lines)
            for kind, files in found.items() for file, lines in files.items()
            if len(lines) > debt.get(kind, {}).get(file, 0)]


def fallen(found: Findings, debt: Counts) -> list[str]:
    """Files that have fewer findings than the debt allows."""
    now = counts(found)
    return [f"{file}: {now.get(kind, {}).get(file, 0)} {kind}, written {count}"
            for kind, files in debt.items() for file, count in files.items() if now.get(kind, {}).get(file, 0) < count]


def error_faults(part: str, text: str) -> Iterator[str]:
    """What is wrong with a text of an error besides its words."""
    yield from (f'says "{pattern}"' for pattern, expression in ERROR_PATTERNS.items() if expression.search(text))
    if part == "hint" and (found := NO_INSTRUCTION.match(text)):
        yield f'the hint is no instruction: "{found[0].strip()} ..."'


def button_faults(label: str) -> Iterator[str]:
    """What is wrong with the label of a button besides its words."""
    words = re.findall(r"[A-Za-z][\w']*", label)
    if "{}" not in label and len(words) != BUTTON_WORDS and label not in ONE_WORD:
        yield f"{len(words)} words, use a verb and an object"


def file_faults(file: str, banned: glossary.Glossary) -> Iterator[tuple[str, str]]:
    """Banned words of the name of a page, with the terms to use."""
    stem = PurePath(file).stem
    yield from banned.in_name(stem)
    yield from banned.in_text(re.sub(r"[-_]", " ", stem))


def _all() -> Iterator[tuple[str, str, str]]:
    banned = glossary.read(glossary.GLOSSARY.read_text(encoding="utf-8"))
    trees = texts.modules()
    packages = {file: tree for file, tree in trees.items() if file.startswith(texts.PACKAGES)}
    for file, tree in trees.items():
        source = (texts.ROOT / file).read_text(encoding="utf-8")
        allowed = texts.allowed_lines(source)
        path = PurePath(file)
        own = path.parent.name if path.stem == "__init__" else path.stem
        for line, name, private in [*([] if own.startswith("__") else [(1, own, False)]), *texts.names(tree)]:
            for word, term in banned.in_name(name, private=private):
                if line not in allowed:
                    yield "names", file, f"{line}: {name}: {word}, use {term}"
        for line, last, text in texts.docstrings(tree):
            shown = re.sub(r"``[^`]*``|:\w+:`[^`]*`|`[^`]*`", " ", text)
            if allowed.isdisjoint(range(line, last + 1)):
                for word, term in banned.in_text(shown):
                    yield "docstrings", file, f"{line}: {word}, use {term}"
            for sentence in sentences.long_in_docstring(text):
                yield "docstring_sentences", file, f"{line}: {sentence}"
        for line, comment in texts.comments(source):
            for word, term in banned.in_text(comment) if line not in allowed else ():
                yield "comments", file, f"{line}: {word}, use {term}"
        for line, part, text in texts.error_texts(tree):
            if line not in allowed:
                for word, term in banned.in_text(text):
                    yield "errors", file, f"{line}: {word}, use {term}"
            for fault in error_faults(part, text):
                yield "errors", file, f"{line}: {fault}: {text}"
        if file.startswith("workbench/"):
            for line, text in texts.labels(tree):
                for word, term in banned.in_text(text) if line not in allowed else ():
                    yield "labels", file, f"{line}: {word}, use {term}: {text}"
            for line, text in texts.buttons(tree):
                for fault in button_faults(text):
                    yield "labels", file, f"{line}: {fault}: {text}"
    for file, page in texts.pages().items():
        for word, term in file_faults(file, banned):
            yield "pages", file, f"name of the file: {word}, use {term}"
        if file != glossary.GLOSSARY.relative_to(texts.ROOT).as_posix():
            for block in texts.blocks(page):
                for line, word, term in banned.in_lines(block):
                    yield "pages", file, f"{line}: {word}, use {term}"
            for sentence in sentences.long_in_page(page):
                yield "page_sentences", file, sentence
    files = {imports.name(file): file for file in packages}
    for group in imports.cycles(imports.graph(packages)):
        for module in sorted(group):
            yield "cycles", files[module], f"in a cycle with {', '.join(sorted(group - {module}))}"
    for name, homes in class_homes(packages).items():
        for home in homes[1:]:
            yield "class_names", name, f"stands in {homes[0]}, and in {home}"


def class_homes(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Public classes that stand in several modules, with their files."""
    homes: dict[str, list[str]] = {}
    for file, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(file)
    return {name: files for name, files in homes.items() if len(files) > 1}
