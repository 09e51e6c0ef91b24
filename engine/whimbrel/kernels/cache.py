"""Cache of compiled code: content-addressed files in a user directory.

numba decides whether its cached machine code is fresh by the stamp of *one* source file, so an edit in a second file
goes unnoticed and the old answer comes back. Here the file's own name covers everything its code depends on: the text,
the source of every package that compiled code may call, and the versions of numba, NumPy, Python and whimbrel. A file
that exists is therefore never rewritten, and code that changed is never found under the old name.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import sys
import tempfile
from pathlib import Path

_ENGINE = Path(__file__).parent.parent
_COMPILED_PACKAGES = ("kernels/primitives", "kernels/intrinsics.py", "aggregates", "expr/scalar_functions.py")


def cache_directory() -> Path:
    """The user's cache directory for whimbrel; ``WHIMBREL_CACHE`` overrides the platform's convention."""
    if override := os.environ.get("WHIMBREL_CACHE"):
        return Path(override).absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "whimbrel"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "whimbrel"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "whimbrel"


def source_file(text: str, name: str) -> Path:
    """Put source text into its content-addressed file, once, and say where it is.

    Safe under concurrent processes (the file appears whole or not at all) and under a home that cannot be written
    (a private temporary directory serves this process instead).
    """
    digest = hashlib.sha256(f"{dependency_digest()}\n{text}".encode()).hexdigest()[:16]
    path = _writable_directory() / f"{name}_{digest}.py"
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).replace(path)
    return path


@functools.cache
def dependency_digest() -> str:
    """Hash of everything besides its own text that compiled code depends on."""
    digest = hashlib.sha256(sys.version.encode())
    for package in ("numba", "llvmlite", "numpy", "whimbrel"):
        digest.update(f"{package} {importlib.metadata.version(package)}".encode())
    for folder in _COMPILED_PACKAGES:
        path = _ENGINE / folder
        for file in [path] if path.suffix else sorted(path.rglob("*.py")):
            digest.update(str(file.relative_to(_ENGINE)).encode() + file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _writable_directory() -> Path:
    directory = cache_directory() / "kernels"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        return Path(_of_this_process().name)


def keeps_code() -> bool:
    """Whether compiled code is there for later processes; where the cache cannot be written it goes with this one."""
    return _writable_directory().is_relative_to(cache_directory())


@functools.cache
def _of_this_process() -> tempfile.TemporaryDirectory[str]:
    """A directory that goes when the process does."""
    return tempfile.TemporaryDirectory(prefix="whimbrel-kernels-", ignore_cleanup_errors=True)
