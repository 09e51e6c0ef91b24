"""What the project says, by kind: public names, docstrings, texts of errors, labels, prose of pages."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.house.glossary import ALLOWED

ROOT = Path(__file__).parents[2]
SOURCES = ("engine", "workbench")
GENERATED_PAGES = "docs/operators/"  # written from docstrings
GENERATED_METHODS = "engine/whimbrel/stream/methods.py"  # written from operators, whose names are checked there
LABELLED = {"name", "title", "label", "description", "placeholder", "header", "tooltip"}
Line = tuple[int, str]


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Syntax trees of both packages by file."""
    return {file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in committed("*.py")
            if file.startswith(SOURCES) and file != GENERATED_METHODS}


@functools.cache
def pages() -> dict[str, str]:
    """Texts of hand-written pages, and of the prose cells of notebooks."""
    found = {file: (ROOT / file).read_text(encoding="utf-8") for file in committed("*.md")
             if not file.startswith(GENERATED_PAGES)}
    for file in committed("notebooks/*.py"):
        found[file] = notebook_prose((ROOT / file).read_text(encoding="utf-8"))
    return found


@functools.cache
def committed(pattern: str) -> list[str]:
    """Files that git has or would add."""
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern],
                          cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(file for file in set(done.stdout.splitlines()) if (ROOT / file).is_file())


def notebook_prose(text: str) -> str:
    """Markdown cells of a notebook in jupytext's percent format; other lines are left empty."""
    lines, inside = list[str](), False
    for line in text.splitlines():
        if line.startswith("# %%"):
            inside = "[markdown]" in line
            lines.append("")
        else:
            lines.append(line.removeprefix("#").removeprefix(" ") if inside else "")
    return "\n".join(lines)


def public_names(tree: ast.Module) -> Iterator[Line]:
    """Names of public classes, functions, constants, fields and parameters."""
    yield from _names(tree.body)


def _names(body: list[ast.stmt]) -> Iterator[Line]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, node.name
            yield from _names(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            initializer = node.name == "__init__"
            if node.name.startswith("_") and not initializer:
                continue
            if not initializer:
                yield node.lineno, node.name
            signature = node.args
            for parameter in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs):
                if not parameter.arg.startswith("_"):
                    yield parameter.lineno, parameter.arg
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.lineno, target.id


def docstrings(tree: ast.Module) -> Iterator[Line]:
    """Docstrings of the module, its classes, functions and fields, private ones included."""
    for node in ast.walk(tree):
        if constant := _docstring(node):
            yield constant.lineno, str(constant.value)


def error_texts(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Texts of errors: line, the part (`what`, `where` or `hint`) and the text, with `{}` for values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node).endswith("Error"):
            for part, value in [("what", each) for each in node.args] + [
                    (keyword.arg or "what", keyword.value) for keyword in node.keywords]:
                for line, text in _strings(value):
                    yield line, part, text


def labels(tree: ast.Module) -> Iterator[Line]:
    """Texts that a view shows: strings with several words, and names and titles of widgets."""
    hidden = {id(constant) for node in ast.walk(tree) if (constant := _docstring(node))}
    named = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if _called(node).endswith("Error"):
                hidden |= {id(each) for argument in ast.walk(node) for each in ast.walk(argument)}
            named |= {id(each) for keyword in node.keywords if keyword.arg in LABELLED
                      for each in ast.walk(keyword.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden and (
                id(node) in named or re.search(r"[a-z,.] [a-z]", node.value)):
            yield node.lineno, node.value


def prose(page: str) -> Iterator[Line]:
    """Lines of a page without code and comments; lines that allow a banned word are left out."""
    code = allowed = False
    for number, line in enumerate(page.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        allowed = (allowed or "words allowed from here: " in line) and "words allowed to here" not in line
        if not (code or allowed or ALLOWED.search(line) or line.lstrip().startswith("```")):
            yield number, re.sub(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)", " ", line)


def _docstring(node: ast.AST) -> ast.Constant | None:
    """A string that stands by itself: it describes the module, class, function or field that it follows."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value
    return None


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _strings(value: ast.expr) -> Iterator[Line]:
    match value:
        case ast.Constant(str(text)):
            yield value.lineno, text
        case ast.JoinedStr(parts):
            yield value.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.IfExp(body=body, orelse=other):
            yield from _strings(body)
            yield from _strings(other)
        case ast.BinOp(left=left, op=ast.Add(), right=right) | ast.BoolOp(values=[left, right]):
            yield from _strings(left)
            yield from _strings(right)
