"""Write what follows from the operators' files: their package's names, and the methods of a stream.

``stream/methods.py`` gets one typed method per builder registered with ``@fluent``. Run by `make generate`; a test
checks that what is committed is what would be written.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import whimbrel.operators
from whimbrel.plan import FLUENT, Operator

ENGINE = Path(__file__).parents[1] / "engine" / "whimbrel"
HOMES = ("collections.abc", "whimbrel.clock", "whimbrel.expr", "whimbrel.operators", "whimbrel.plan", "typing")
HEAD = '''"""The methods that operators give to streams. Generated: change the operator's file, then `make generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel import operators

if TYPE_CHECKING:
{imports}


class Methods:
    """What every stream can do; :mod:`whimbrel.operators` says what each method means."""

    keys: Keys
    node: Node

    def _unary(self, build: Callable[..., Operators], /, *arguments: Any, **options: Any) -> Self:
        raise TypeError(type(self))

    def _binary(self, build: Callable[..., Operators], right: Self, *arguments: Any, allow_lookahead: bool,
                **options: Any) -> Self:
        raise TypeError(type(self))

    def _nary(self, build: Callable[..., Operators], *others: Self) -> Self:
        raise TypeError(type(self))
'''
ALLOW_LOOKAHEAD = """
allow_lookahead : bool
    Let one stream show values before they are known to the other one, as windows labelled at their start do."""
NEEDED_BY_HEAD = {"Any", "Callable", "Keys", "Node", "Operators", "Self"}
HANDED_OVER = {"keys": "self.keys", "known": "self.node.properties", "right_known": "right.node.properties"}
"""Parameters that do not come from the user."""


def files() -> dict[Path, str]:
    """What is to be in which file."""
    modules = [importlib.import_module(module.name)
               for module in pkgutil.walk_packages(whimbrel.operators.__path__, "whimbrel.operators.")
               if not module.ispkg]
    builds = sorted(FLUENT.values(), key=lambda build: (build.__module__, inspect.getsourcelines(build)[1]))
    methods = [_method(build) for build in builds]
    used = NEEDED_BY_HEAD.union(*(names for _, names in methods)) - set(dir(builtins))
    ours = set[str]().union(*map(_public, modules))
    return {
        ENGINE / "operators" / "__init__.py": _package(modules),
        ENGINE / "stream" / "methods.py": "".join([HEAD.format(imports=_imports(used, ours)),
                                                   *(text for text, _ in methods)]),
    }


def _package(modules: list[ModuleType]) -> str:
    """The names of the package: operators, their builders, and what a file says is public besides."""
    public = {module: sorted(_public(module), key=_import_order) for module in modules}
    lines = [f"from {module.__name__} import {', '.join(names)}" for module, names in public.items() if names]
    names = sorted((name for names in public.values() for name in names), key=_import_order)
    listed = textwrap.fill(", ".join(f'"{name}"' for name in names) + ",", 116)
    return "\n".join([
        '"""Operators of plans, one per file. Generated."""',
        "",
        *(line if len(line) <= 120 else _folded(line) for line in lines),
        "",
        f"__all__ = [\n{textwrap.indent(listed, '    ')}\n]",
        "",
    ])


def _public(module: ModuleType) -> set[str]:
    found = set(getattr(module, "__all__", ()))
    for name, thing in vars(module).items():
        operator = inspect.isclass(thing) and issubclass(thing, Operator)
        if (operator or thing is FLUENT.get(name)) and thing.__module__ == module.__name__:
            found.add(name)
    return found


def _import_order(name: str) -> tuple[bool, str]:
    return name[0].islower(), name


def _folded(line: str) -> str:
    head, names = line.split(" import ")
    return f"{head} import (\n" + "".join(f"    {name},\n" for name in names.split(", ")) + ")"


def _method(build: Callable[..., Any]) -> tuple[str, set[str]]:
    """Source of the method of one builder, and the names that its signature mentions."""
    function = ast.parse(textwrap.dedent(inspect.getsource(build))).body[0]
    assert isinstance(function, ast.FunctionDef)
    signature = function.args
    (signature.posonlyargs or signature.args).pop(0)  # the schema
    passed = [f"operators.{build.__name__}", *(HANDED_OVER[argument.arg] for argument in signature.posonlyargs)]
    signature.posonlyargs, signature.defaults = [], signature.defaults[len(signature.posonlyargs):]
    binary = bool(signature.args) and signature.args[0].arg == "right"
    nary = signature.vararg is not None and signature.vararg.arg == "others"
    if signature.vararg and nary:
        signature.vararg.annotation = ast.Name("Self")
    if binary:
        signature.args[0].annotation = ast.Name("Self")
        signature.kwonlyargs.append(ast.arg("allow_lookahead", ast.Name("bool")))
        signature.kw_defaults.append(ast.Constant(False))
    named = dict(zip((argument.arg for argument in signature.kwonlyargs),
                     zip(signature.kwonlyargs, signature.kw_defaults, strict=True), strict=True))
    handed_over = [f"{name}={value}" for name, value in HANDED_OVER.items() if named.pop(name, None)]
    signature.kwonlyargs, signature.kw_defaults = [each for each, _ in named.values()], [d for _, d in named.values()]
    passed += [argument.arg for argument in signature.args]
    passed += [f"*{signature.vararg.arg}"] if signature.vararg else []
    passed += [f"{argument.arg}={argument.arg}" for argument in signature.kwonlyargs]
    passed += handed_over
    passed += [f"**{signature.kwarg.arg}"] if signature.kwarg else []
    names = {node.id for node in ast.walk(signature) if isinstance(node, ast.Name)}
    # Columns that users name may have any name, also one of ours.
    (signature.posonlyargs if signature.kwarg else signature.args).insert(0, ast.arg("self"))
    documentation = inspect.cleandoc(build.__doc__ or "")
    documentation += ALLOW_LOOKAHEAD if binary and "Parameters\n" in documentation else ""
    documentation = textwrap.indent(documentation, " " * 8).strip()
    end = "\n        " if "\n" in documentation else ""
    parameters = re.sub(r"(: [^=()]+)=", r"\1 = ", ast.unparse(signature)).replace("'", '"')
    head = f"    def {build.__name__}({parameters}) -> Self:"
    if len(head) > 120:
        whole = re.sub("(?<=[^, ]) ", "\0", head)  # lines break after commas only
        folded = textwrap.fill(whole, 118, subsequent_indent=" " * (len(build.__name__) + 9), break_long_words=False)
        head = folded.replace("\0", " ")
    call = f"        return self._{'binary' if binary else 'nary' if nary else 'unary'}({', '.join(passed)})"
    if len(call) > 120:
        call = textwrap.fill(call, 120, subsequent_indent=" " * (call.index("(") + 1), break_long_words=False)
    return f'\n{head}\n        """{documentation}{end}"""\n{call}\n', names


def _imports(names: set[str], ours: set[str]) -> str:
    """Import lines for names, each from the first package that has it, or will have it when this file is written."""
    homes: dict[str, list[str]] = {}
    for name in sorted(names):
        home = next(module for module in HOMES if hasattr(importlib.import_module(module), name)
                    or (module == "whimbrel.operators" and name in ours))
        homes.setdefault(home, []).append(name)
    order = ["collections.abc", "typing", *sorted(home for home in HOMES if home.startswith("whimbrel"))]
    lines = {home: f"from {home} import {', '.join(homes[home])}" for home in order if home in homes}
    return "\n".join(textwrap.indent(line if len(line) <= 116 else _folded(line), "    ")
                     + ("\n" if home == "typing" else "") for home, line in lines.items())


if __name__ == "__main__":
    for file, content in files().items():
        file.write_text(content, encoding="utf-8")
        print(f"wrote {file.relative_to(ENGINE)}")
