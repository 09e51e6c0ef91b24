"""Files of signals: their paths, their libraries and what changes with them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.paths import FilePath, check_on_this_machine
from whimbrel.connect.validation import check_path
from whimbrel.errors import MissingExtraError, SourceError, near_match


def signal_library(module: str, package: str, extra: str, purpose: str) -> Any:
    """Import a library of an extra, or raise an error that names the extra.

    An :class:`OSError` is a library of the system that is missing.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        raise MissingExtraError(package, extra, purpose) from error


def existing_file(path: FilePath, where: str) -> Path:
    """A file of this machine; an error if there is none."""
    check_path("path", path, where=where)
    check_on_this_machine(path, where=where)
    file = Path(path).expanduser()
    if file.is_file():
        return file
    names = sorted(each.name for each in file.parent.iterdir()) if file.parent.is_dir() else []
    raise SourceError(f"There is no file {str(file)!r}.", where=where, hint=near_match(file.name, names, noun="file"))


def files_of(folder: Path, endings: Sequence[str], where: str) -> list[Path]:
    """The files of a folder with one of these endings, in the natural order of their names."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in endings and file.name[0] not in "._"]
    if not found:
        raise SourceError(f"There is no {' or '.join(endings)} file in {str(folder)!r}.", where=where,
                          hint="Use the path of a file, or another folder.")
    return sorted(found, key=natural_path)


def stamp_of(files: Sequence[Path]) -> str:
    """A text that changes when one of the files does."""
    states = [(str(file), file.stat()) for file in files]
    return ";".join(f"{name}:{state.st_size}:{state.st_mtime_ns}" for name, state in states)


def chosen_channels(labels: Sequence[str], rates: Sequence[Any], channels: Sequence[str] | str | None,
                    where: str) -> list[int]:
    """The positions of the channels of one rate that were asked for; default: all."""
    named = [channels] if isinstance(channels, str) else list(labels if channels is None else channels)
    if not named:
        raise SourceError("The file has no signals." if channels is None else "channels must name a channel, got none.",
                          where=where, hint="Use channels= with names of the file.")
    for name in named:
        if name not in labels:
            raise SourceError(f"There is no channel {name!r}.", where=where,
                              hint=near_match(str(name), labels, noun="channel"))
    found = [labels.index(name) for name in named]
    by_rate: dict[Any, list[str]] = {}
    for position in found:
        by_rate.setdefault(rates[position], []).append(labels[position])
    if len(by_rate) > 1:
        kinds = "; ".join(f"{', '.join(names)} with {float(rate):g}" for rate, names in by_rate.items())
        raise SourceError(f"Channels of one stream must have one rate, got {kinds} samples per second.", where=where,
                          hint=f"Use one stream for each rate, such as channels={next(iter(by_rate.values()))!r}.")
    return found


def distinct_labels(labels: Sequence[str]) -> list[str]:
    """Names of channels; a label that comes again is numbered.

    >>> distinct_labels(["EEG", "ECG", "EEG"])
    ['EEG', 'ECG', 'EEG (2)']
    """
    found: list[str] = []
    for number, label in enumerate(labels):
        known = label or f"ch{number + 1}"
        again = sum(each == known for each in labels[:number])
        found.append(f"{known} ({again + 1})" if again else known)
    return found
