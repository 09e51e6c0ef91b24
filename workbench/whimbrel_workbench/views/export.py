"""Export a frame as HTML or PNG."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Final

from whimbrel.errors import MissingExtraError, WhimbrelError
from whimbrel_workbench.frames import Frame
from whimbrel_workbench.views.palette import FONT
from whimbrel_workbench.views.static_html import still_html
from whimbrel_workbench.views.table import TABLE_CSS

_WIDTH_PX: Final = 948
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "microsoft-edge")
_PAGE: Final = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%(title)s</title>
<style>
  :root {{ color-scheme: light dark; font: 13px/1.45 {FONT} }}
  body {{ margin: 0; padding: 24px; width: min(900px, 100vw - 48px); overflow-wrap: anywhere }}
  pre {{ white-space: pre-wrap }}
  details {{ margin-top: 10px }}
  %(css)s
</style>
%(still)s
</html>
"""


class SaveError(WhimbrelError):
    """A frame that cannot be written as it was asked for."""


def save(frame: Frame, path: str | os.PathLike[str]) -> Path:
    """Write a frame as ``.html`` or ``.png``: whole, or not at all.

    Raises
    ------
    SaveError
        The name of the file ends otherwise, it cannot be written, or no browser was found to make the PNG.
    MissingExtraError
        A PNG needs playwright, which controls the browser.
    """
    return save_page(frame.style.title or "whimbrel", still_html(frame, unfolded=True), path, css=TABLE_CSS)


def save_page(title: str, still: str, path: str | os.PathLike[str], *, css: str = "") -> Path:
    """Write static HTML as :func:`save` writes a frame."""
    file = Path(path)
    where = f"save({str(path)!r})"
    html = _PAGE % {"title": escape(title), "css": css, "still": still}
    match file.suffix.lower():
        case ".html" | ".htm":
            content = html.encode()
        case ".png":
            # A notebook's own thread already runs an event loop, in which playwright would refuse to wait.
            with ThreadPoolExecutor(1) as renderer:
                content = renderer.submit(_photograph, html, where).result()
        case other:
            raise SaveError(f"The file must end with .html or .png, got {other or 'no ending'!r}.", where=where,
                            hint="Change the name of the file.")
    try:
        _replace(file, content)
    except OSError as error:
        raise SaveError(f"Cannot write the file: {error.strerror}.", where=where,
                        hint="Choose a path that can be written.") from error
    return file


def _photograph(html: str, where: str) -> bytes:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise MissingExtraError("playwright", "png", "save() as .png") from None
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=next(filter(None, map(shutil.which, _BROWSERS)), None))
        except Error as error:
            raise SaveError("A PNG needs a browser, and none was found.", where=where,
                            hint="Run playwright install chromium.") from error
        page = browser.new_page(viewport={"width": _WIDTH_PX, "height": 600}, device_scale_factor=2,
                                java_script_enabled=False, offline=True)
        page.set_content(html)
        return page.locator("body").screenshot()


def _replace(file: Path, content: bytes) -> None:
    """Put a file where another one may be, in one step."""
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(draft).chmod(0o644)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
