"""What the project says, by kind: names, docstrings, texts of errors, labels, prose of pages."""

from __future__ import annotations

import ast
import functools
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.house.glossary import ALLOWED

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine/", "workbench/")
CODE = (*PACKAGES, "bench/", "scripts/")
GENERATED_PAGES = "docs/operators/"  # written from docstrings
GENERATED_METHODS = "engine/whimbrel/stream/methods.py"  # written from operators, whose names are checked there
LABELLED = {"name", "title", "label", "description", "placeholder", "header", "tooltip"}
ALLOWED_IN_PAGE = re.compile(rf"<!--[^>]*{ALLOWED.pattern}")
BLOCK = re.compile(r"\s*([-*+]|\d+\.|#+|>)\s|\s*\|")
"""Begins an item of a list, a heading, a quotation or a row of a table."""
Line = tuple[int, str]
Strings = Mapping[str, Sequence[ast.expr]]


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Syntax trees of the packages, benchmarks and scripts by file."""
    return {file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in committed("*.py")
            if file.startswith(CODE) and file != GENERATED_METHODS}


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


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments of code, by line."""
    return ((token.start[0], token.string) for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT)


def allowed_lines(source: str) -> set[int]:
    """Lines of code with a comment that allows a banned word."""
    return {line for line, comment in comments(source) if ALLOWED.search(comment)}


def names(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Names of classes, functions, constants, fields, attributes and parameters, and whether each is private."""
    yield from _names(tree.body, private=False, local=False)


def _names(body: Sequence[ast.AST], *, private: bool, local: bool) -> Iterator[tuple[int, str, bool]]:
    for node in body:
        match node:
            case ast.ClassDef(name=name):
                hidden = private or _is_private(name)
                yield node.lineno, name, hidden
                yield from _names(node.body, private=hidden, local=False)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                hidden = private or _is_private(name)
                if not name.startswith("__"):
                    yield node.lineno, name, hidden
                signature = node.args
                extra = [each for each in (signature.vararg, signature.kwarg) if each is not None]
                for each in (*signature.posonlyargs, *signature.args, *extra, *signature.kwonlyargs):
                    yield each.lineno, each.arg, hidden or _is_private(each.arg)
                yield from _names(node.body, private=True, local=True)
                for each in ast.walk(node):
                    if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and (
                            isinstance(each.value, ast.Name) and each.value.id == "self"):
                        yield each.lineno, each.attr, private or _is_private(each.attr)
            case ast.Assign() | ast.AnnAssign() if not local:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for each in ast.walk(target):
                        if isinstance(each, ast.Name):
                            yield each.lineno, each.id, private or _is_private(each.id)
            case ast.stmt() | ast.ExceptHandler() | ast.match_case():
                inner = [each for each in ast.iter_child_nodes(node)
                         if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case)]
                yield from _names(inner, private=private, local=local)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def docstrings(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """Docstrings of the module, its classes, functions and fields: first line, last line and text."""
    for node in ast.walk(tree):
        if constant := _docstring(node):
            yield constant.lineno, constant.end_lineno or constant.lineno, str(constant.value)


def error_texts(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Texts of errors: line, the part (`what`, `where` or `hint`) and the text, with `{}` for values.

    A call with ``hint=`` counts too, because it raises the error elsewhere. Names of variables and constants stand for
    the strings that the function or the module assigns to them.
    """
    for call, strings in _calls(tree, _assigned(tree.body)):
        keywords = {keyword.arg for keyword in call.keywords}
        if _called(call).endswith("Error") or "hint" in keywords:
            for part, value in [("what", each) for each in call.args] + [
                    (keyword.arg or "what", keyword.value) for keyword in call.keywords]:
                for line, text in _strings(value, strings):
                    yield line, part, text


def _calls(node: ast.AST, strings: Strings) -> Iterator[tuple[ast.Call, Strings]]:
    """All calls, each with the assignments that its function can see."""
    for child in ast.iter_child_nodes(node):
        inner = strings
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = {**strings, **_assigned(child.body)}
        if isinstance(child, ast.Call):
            yield child, inner
        yield from _calls(child, inner)


def _assigned(body: Sequence[ast.stmt]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(
                    target=ast.Name(name), value=ast.expr() as value) | ast.NamedExpr(ast.Name(name), value):
                found.setdefault(name, []).append(value)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def labels(tree: ast.Module) -> Iterator[Line]:
    """Texts that a view shows: strings with several words, names and titles of widgets, and labels of buttons."""
    hidden = {id(constant) for node in ast.walk(tree) if (constant := _docstring(node))}
    named = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if _called(node).endswith("Error"):
                hidden |= {id(each) for argument in ast.walk(node) for each in ast.walk(argument)}
            named |= {id(each) for keyword in node.keywords if keyword.arg in LABELLED
                      for each in ast.walk(keyword.value)}
    named |= {id(each) for value in _button_labels(tree) for each in ast.walk(value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden and (
                id(node) in named or re.search(r"[a-z,.] [a-z]", node.value)):
            yield node.lineno, node.value


def buttons(tree: ast.Module) -> Iterator[Line]:
    """Labels of buttons, with `{}` for values."""
    for value in _button_labels(tree):
        yield from _strings(value, {})


def _button_labels(tree: ast.Module) -> Iterator[ast.expr]:
    """Labels that a call of ``...button(...)`` has, by position or by name, and that a button gets later."""
    made = {target.attr for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            and _makes_button(node.value) for target in node.targets if isinstance(target, ast.Attribute)}
    for node in ast.walk(tree):
        match node:
            case ast.Call() if _makes_button(node):
                yield from node.args[:1]
                yield from (keyword.value for keyword in node.keywords if keyword.arg in {"label", "name"})
            case ast.Call(args=[ast.Attribute(attr=attribute), ast.Constant("label" | "name"), value]) if (
                    attribute in made):
                yield value
            case ast.Assign(targets=[ast.Attribute(value=ast.Attribute(attr=attribute), attr="label" | "name")],
                            value=value) if attribute in made:
                yield value


def _makes_button(call: ast.Call) -> bool:
    return _called(call).lower().endswith("button")


def prose(page: str) -> Iterator[Line]:
    """Lines of a page without code and comments; lines that allow a banned word are left out."""
    code = allowed = False
    for number, line in enumerate(page.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        allowed = (allowed or "<!-- words allowed from here: " in line) and "words allowed to here" not in line
        if not (code or allowed or ALLOWED_IN_PAGE.search(line) or line.lstrip().startswith("```")):
            yield number, re.sub(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)", " ", line)


def blocks(page: str) -> Iterator[list[Line]]:
    """Lines of a page that belong together: a paragraph, an item of a list, a heading, a row of a table."""
    block: list[Line] = []
    for number, line in prose(page):
        begins = not line.strip() or BLOCK.match(line)
        if block and (begins or number != block[-1][0] + 1 or block[-1][1].lstrip().startswith(("#", "|"))):
            yield block
            block = []
        if line.strip():
            block.append((number, line))
    if block:
        yield block


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


def _strings(value: ast.expr, strings: Strings) -> Iterator[Line]:
    match value:
        case ast.Constant(str(text)):
            yield value.lineno, text
        case ast.JoinedStr(parts):
            yield value.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.Call(func=ast.Attribute(value=template, attr="format")):
            yield from ((line, re.sub(r"\{[^{}]*\}", "{}", text)) for line, text in _strings(template, strings))
        case ast.Name(name) if name in strings:
            without = {other: values for other, values in strings.items() if other != name}
            for each in strings[name]:
                yield from _strings(each, without)
        case ast.Subscript(value=ast.Name(name)):
            for each in strings.get(name, ()):
                if isinstance(each, ast.Dict):
                    for text in each.values:
                        yield from _strings(text, {})
        case ast.IfExp(body=body, orelse=other):
            yield from _strings(body, strings)
            yield from _strings(other, strings)
        case ast.BinOp(left=left, op=ast.Mod()):
            yield from ((line, re.sub(r"%[sdr]", "{}", text)) for line, text in _strings(left, strings))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _strings(left, strings)
            yield from _strings(right, strings)
        case ast.BoolOp(values=values):
            for each in values:
                yield from _strings(each, strings)
        case ast.Lambda(body=body):
            yield from _strings(body, strings)
