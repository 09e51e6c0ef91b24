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
    "cannot be.": re.compile(r"\bcannot be\."),
}
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
    if part == "hint" and re.match(r"such as\b", text, re.IGNORECASE):
        yield 'the hint is only "such as ..."'


def _all() -> Iterator[tuple[str, str, str]]:
    banned = glossary.read(glossary.GLOSSARY.read_text(encoding="utf-8"))
    trees = texts.modules()
    for file, tree in trees.items():
        lines = (texts.ROOT / file).read_text(encoding="utf-8").splitlines()

        def kept(line: int, lines: list[str] = lines) -> bool:
            return not glossary.ALLOWED.search(lines[line - 1])

        stem = PurePath(file).stem
        for line, name in [*([] if stem.startswith("__") else [(1, stem)]), *texts.public_names(tree)]:
            for word, term in banned.in_name(name):
                if kept(line):
                    yield "names", file, f"{line}: {name}: {word}, use {term}"
        for line, text in texts.docstrings(tree):
            shown = re.sub(r"``[^`]*``|:\w+:`[^`]*`|`[^`]*`", " ", text)
            if kept(line):
                for word, term in banned.in_text(shown):
                    yield "docstrings", file, f"{line}: {word}, use {term}"
            for sentence in sentences.long_in_docstring(text):
                yield "docstring_sentences", file, f"{line}: {sentence}"
        for line, part, text in texts.error_texts(tree):
            if kept(line):
                for word, term in banned.in_text(text):
                    yield "errors", file, f"{line}: {word}, use {term}"
            for fault in error_faults(part, text):
                yield "errors", file, f"{line}: {fault}: {text}"
        if file.startswith("workbench"):
            for line, text in texts.labels(tree):
                for word, term in banned.in_text(text) if kept(line) else ():
                    yield "labels", file, f"{line}: {word}, use {term}: {text}"
    for file, page in texts.pages().items():
        if file != glossary.GLOSSARY.relative_to(texts.ROOT).as_posix():
            for line, text in texts.prose(page):
                for word, term in banned.in_text(text):
                    yield "pages", file, f"{line}: {word}, use {term}"
            for sentence in sentences.long_in_page(page):
                yield "page_sentences", file, sentence
    files = {imports.name(file): file for file in trees}
    for group in imports.cycles(imports.graph(trees)):
        for module in sorted(group):
            yield "cycles", files[module], f"in a cycle with {', '.join(sorted(group - {module}))}"
    for name, homes in class_homes(trees).items():
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
