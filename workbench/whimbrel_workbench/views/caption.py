"""The caption of a picture: its values, and what is left out."""

from __future__ import annotations

from typing import Final

from whimbrel.clock import span_words
from whimbrel_workbench.frames import Bars, Heat, Lines, Picture, Scatter, ScopeFrame, Spectrogram, TriggerFrame
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.views.visible_points import MAX_OPEN

MAX_NAMED: Final = 12


def caption(picture: Picture) -> str:
    """Which values are drawn by which keys, how many are settled, and what is left out."""
    match picture:
        case Lines():
            shown = len(picture.lines)
        case Bars():
            shown = len(picture.bars)
        case Heat():
            shown = len(picture.names)
        case Scatter():
            shown = len(picture.names)
        case ScopeFrame():
            return _of_scope(picture)
        case TriggerFrame():
            return _of_trigger(picture)
        case Spectrogram():
            other = f" Not shown: {_listed(picture.others)} Choose one with y=." if picture.others else ""
            return f"Power of {picture.channel.name} by frequency.{other}"
        case _:
            return ""
    by = " and ".join(picture.keys)
    provisional = picture.rows - picture.settled_rows
    words = f"{picture.value}" + (f" against {picture.along}" if isinstance(picture, Scatter) else "")
    words += f" by {by}" if by else ""
    words += f". {picture.settled_rows:,} rows settled, {provisional:,} provisional."
    if isinstance(picture, Bars) and picture.windows:
        when = f"between {' and '.join(picture.windows)}" if len(picture.windows) > 1 else f"at {picture.windows[0]}"
        words += f" Each bar is the newest row of its key, which starts {when}."
    if not isinstance(picture, Scatter) and picture.undrawn:
        words += f" {undrawn_words(picture.undrawn, picture.value)}"
    if isinstance(picture, Heat) and picture.per_cell:
        width = span_words(picture.per_cell / 1000) if picture.calendar else value_words(picture.per_cell)
        words += f" Each cell is the mean over {width}."
    if isinstance(picture, Lines) and (unmarked := sum(line.revisions - len(line.revised) for line in picture)):
        marked = sum(len(line.revised) for line in picture)
        words += f" The {marked:,} largest of {unmarked + marked:,} revisions are marked."
    if isinstance(picture, Scatter) and (still_open := len(picture.points.tail[0])) > MAX_OPEN:
        words += f" One in {-(-still_open // MAX_OPEN)} provisional points is drawn."
    if isinstance(picture, Scatter) and picture.forgotten:
        words += f" {picture.forgotten:,} older rows were evicted; view(keep_rows=...) keeps more."
    if picture.others and isinstance(picture, Scatter):
        words += f" Grey: {_listed(picture.others)}"
    elif picture.others:
        words += f" Shown: {shown} of {shown + len(picture.others)}; not shown: {_listed(picture.others)}"
    return words


def _of_scope(picture: ScopeFrame) -> str:
    channels, provisional = len(picture.channels), picture.rows - picture.settled_rows
    settled = max(channel.trace.samples for channel in picture.channels)
    words = f"{channels} channel{'s' * (channels != 1)}, {settled:,} samples settled, {provisional:,} rows provisional."
    if (per_s := picture.channels[0].axis.per_s) is not None:
        words = f"{value_words(per_s)} samples/s, {words}"
    if picture.missing:
        words += f" {picture.missing:,} samples are missing."
    if picture.store.unread:
        words += f" {picture.store.unread:,} rows were evicted before this view read them."
    if picture.marks is not None:
        words += f" {len(picture.marks):,} events are marked."
    return words + (f" Not shown: {_listed(picture.others)}" if picture.others else "")


def _of_trigger(picture: TriggerFrame) -> str:
    counted, still_open = len(picture.settled), len(picture.provisional)
    words = f"{counted:,} settled window{'s' * (counted != 1)} counted, {still_open:,} provisional drawn, of "
    words += f"{picture.triggers:,} triggers. " if picture.triggers else "0 triggers so far. "
    words += f"A window has {picture.span.before:,} samples before its trigger and {picture.span.after:,} from it on."
    if picture.older:
        words += f" {picture.older:,} triggers have no samples in memory; view(keep_rows=...) keeps more."
    return words + (f" Not shown: {_listed(picture.others)}" if picture.others else "")


def undrawn_words(rows: int, value: str | None) -> str:
    """How many rows are not in the picture because their value is none.

    >>> undrawn_words(1200, "mean")
    '1,200 rows are not drawn: mean is null, infinite, or not positive on a log axis.'
    """
    those = "row is" if rows == 1 else "rows are"
    return f"{rows:,} {those} not drawn: {value or 'the value'} is null, infinite, or not positive on a log axis."


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more." if more > 0 else ".")
