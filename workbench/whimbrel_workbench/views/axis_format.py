"""Format axis labels and tooltips in the browser."""

from __future__ import annotations

from typing import Final

from bokeh.models import Axis, CustomJS, CustomJSHover, CustomJSTickFormatter, LinearColorMapper
from bokeh.plotting import figure

# Very small and very large numbers are written with a power of ten, as value_words() does it.
_SHORT: Final = """
    const short = (value, digits) => value.toExponential(digits).replace(/\\.?0+e/, "e")
"""
_TICK: Final = _SHORT + """
    const size = Math.max(...ticks.map(Math.abs))
    const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : size
    if (!size || Math.abs(tick) < step * 1e-6) return "0"
    // Digits after the twelfth are rounding errors of floats.
    const digits = Math.min(Math.ceil(-Math.log10(step)) + 1, 12 - Math.ceil(Math.log10(size)))
    if (size >= 1e15 || size < 1e-3) return short(tick, Math.min(12, Math.ceil(Math.log10(size / step)) + 1))
    return tick.toLocaleString("en", {maximumFractionDigits: Math.min(15, Math.max(0, digits))})
"""
_SCALE: Final = """
    const largest = Math.max(...ticks.map(Math.abs))
    if (largest >= 1e6 && largest < 1e15)
        return tick.toLocaleString("en", {notation: "compact", maximumSignificantDigits: 4})
""" + _TICK
_COUNT: Final = """
    const whole = Math.round(tick)
    return Math.abs(tick - whole) < 1e-9 * Math.max(1, whole) ? whole.toLocaleString("en") : ""
"""
_VALUE: Final = _SHORT + """
    const size = Math.abs(value)
    if (size && (size >= 1e15 || size < 1e-4)) return short(value, 3)
    const whole = Number.isInteger(value) || size >= 1e4
    return value.toLocaleString("en", whole ? {maximumFractionDigits: 0} : {maximumSignificantDigits: 4})
"""

_SHARE: Final = 0.38
"""Of the width of a chart, for its names."""

_LETTER_PX: Final = 6.8
_FIT: Final = f"""
    axis.tags = [Math.max(8, Math.floor({_SHARE} * cb_obj.outer_width / {_LETTER_PX}))]
"""
_NAME: Final = """
    const name = names.length ? names[Math.floor(tick)] ?? "" : tick
    const wide = /[\\u1100-\\u115F\\u2E80-\\uD7A3\\uF900-\\uFAFF\\uFF00-\\uFF60]|\\p{Extended_Pictographic}/u
    const long = (letters) => letters.reduce((sum, letter) => sum + (wide.test(letter) ? 2 : 1), 0)
    const letters = [...String(name)], limit = axis.tags[0] ?? Infinity
    if (long(letters) <= limit) return name
    const end = Math.floor(limit / 3)
    let before = letters.length, after = 0
    while (before > 0 && long(letters.slice(0, before)) > limit - end - 1) before -= 1
    while (after < letters.length && long(letters.slice(after)) > end) after += 1
    return `${letters.slice(0, before).join("")}…${letters.slice(after).join("")}`
"""


def number_ticks() -> CustomJSTickFormatter:
    """Numbers along an axis: as many digits as neighbours need to differ."""
    return CustomJSTickFormatter(code=_TICK)


def scale_ticks() -> CustomJSTickFormatter:
    """Numbers of a color scale, as short as possible for narrow charts."""
    return CustomJSTickFormatter(code=_SCALE)


def count_ticks() -> CustomJSTickFormatter:
    """Whole numbers along an axis; between two of them stands nothing."""
    return CustomJSTickFormatter(code=_COUNT)


def number_hover() -> CustomJSHover:
    """Numbers under the mouse, for tooltips such as ``@value{custom}``."""
    return CustomJSHover(code=_VALUE)


def count_hover(one: str) -> CustomJSHover:
    """Counts under the mouse with their noun, such as "1 window", "2 windows" and "no windows"."""
    return CustomJSHover(code=f"return value > 0 ? value.toLocaleString('en') + ' {one}' + (value > 1 ? 's' : '') "
                              f": 'no {one}s'")


def shade_hover(scale: LinearColorMapper, shades: int) -> CustomJSHover:
    """Levels in decibels of the numbers of colors under the mouse, the first of which stands for all that is lower."""
    return CustomJSHover(args={"scale": scale, "shades": shades}, code="""
        if (!(value > 0)) return "no frame"
        const level = scale.low + (value - 1) / (shades - 1) * (scale.high - scale.low)
        return (value > 1 ? "" : "at most ") + level.toFixed(0).replace("-0", "0") + " dB"
    """)


def name_ticks(fig: figure, axis: Axis) -> CustomJSTickFormatter:
    """Names along an axis, those that are too long for a narrow chart without their middle.

    Those of an axis of numbers, one for each whole step, go into its ``args["names"]``.
    """
    fig.js_on_change("outer_width", CustomJS(args={"axis": axis}, code=_FIT))
    return CustomJSTickFormatter(args={"axis": axis, "names": []}, code=_NAME)
