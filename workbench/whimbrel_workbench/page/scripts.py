"""Scripts of Bokeh, Panel and live views for a notebook page."""

from __future__ import annotations

import uuid
import warnings
from importlib.resources import files
from typing import Any, Final

import panel as pn
import panel.io.notebook
from bokeh.models import ImportedStyleSheet, InlineStyleSheet, Model, UIElement
from bokeh.util.warnings import BokehUserWarning
from IPython.utils.capture import capture_output
from panel.io.notebook import LOAD_MIME, load_notebook, replace_inline_css

_KERNEL: Final = uuid.uuid4().hex
_SCRIPT_TAG: Final = '<script type="application/javascript">'
_SCRIPT: Final = "application/javascript"


def scripts() -> str:
    """All scripts as one, also if the extension was loaded before."""
    # Pages tell of models that came with an earlier message as if they were new; nothing follows from it.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    with capture_output():
        pn.extension(inline=True)
    with capture_output() as captured:
        load_notebook(inline=True)
    loaded = [out.data[LOAD_MIME] for out in captured.outputs if LOAD_MIME in out.data]
    return "\n".join([*loaded, freezing(), _own("page.js"), f"window.whimbrel.kernels.add('{_KERNEL}')"])


def freezing() -> str:
    """How a page marks what is drawn as the last frame, when nobody answers it any more."""
    return _own("freeze.js")


def _own(name: str) -> str:
    return files("whimbrel_workbench.page").joinpath(name).read_text(encoding="utf-8")


def with_styles(layout: pn.viewable.Viewable, root: Model, changed: Any, _old: Any) -> None:
    """Put style sheets into a view that is about to be shown, each once; Panel does it for every model on its own."""
    if changed is not layout:
        return
    sheets: dict[str, InlineStyleSheet | ImportedStyleSheet] = {}
    for model in root.select({"type": UIElement}):
        model.stylesheets = [sheets.setdefault(each.url, replace_inline_css(each))
                             if isinstance(each, ImportedStyleSheet) else each for each in model.stylesheets]


def guarded(html: str, view: str, still: str, sign: str) -> str:
    """A view that only a page with the scripts of this kernel shows.

    Parameters
    ----------
    html : str
        As Panel makes it.
    view : str
        The view's id.
    still : str
        Which last frame is hidden by it.
    sign : str
        Id of the widget by which the page says whether it is seen.
    """
    asked = f'if (window.whimbrel?.show("{_KERNEL}", "{view}", "{still}", "{sign}")) '
    return html.replace(_SCRIPT_TAG, _SCRIPT_TAG + asked, 1)


def _html_of(bundle: dict[str, str]) -> str:
    """A view as HTML with its script in it, whose data stay data.

    Panel writes names and values as JSON into the script as they are: one that holds ``</script>`` would end it, and a
    page would run what follows.
    """
    script = _inside_a_script(bundle.get(_SCRIPT, ""))
    return bundle.get("text/html", "") + (f"\n{_SCRIPT_TAG}{script}</script>" if script else "")


def _inside_a_script(text: str) -> str:
    r"""The same script, in which nothing ends it or begins a comment of HTML: both can stand in texts only.

    >>> _inside_a_script('say("</script><!--")')
    'say("\\u003c/script>\\u003c!--")'
    """
    return text.replace("</", r"\u003c/").replace("<!--", r"\u003c!--")


# What HoloViews shows of a view comes this way too, and asks nobody else.
panel.io.notebook.mimebundle_to_html = _html_of
