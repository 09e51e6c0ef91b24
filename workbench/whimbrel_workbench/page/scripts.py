"""Scripts that a page needs, as text: those of Bokeh and Panel, and what it does for live views."""

from __future__ import annotations

import uuid
import warnings
from importlib.resources import files
from typing import Any, Final

import panel as pn
from bokeh.models import ImportedStyleSheet, InlineStyleSheet, Model, UIElement
from bokeh.util.warnings import BokehUserWarning
from IPython.utils.capture import capture_output
from panel.io.notebook import LOAD_MIME, load_notebook, replace_inline_css

_KERNEL: Final = uuid.uuid4().hex
_SCRIPT_TAG: Final = '<script type="application/javascript">'
_SCRIPT_END: Final = "</script>"


def scripts() -> list[str]:
    """The scripts, whoever loaded the extension before and from wherever."""
    # Pages tell of models that came with an earlier message as if they were new; nothing follows from it.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    with capture_output():
        pn.extension(inline=True)
    with capture_output() as captured:
        load_notebook(inline=True)
    own = files("whimbrel_workbench.page").joinpath("page.js").read_text(encoding="utf-8")
    loaded = [out.data[LOAD_MIME] for out in captured.outputs if LOAD_MIME in out.data]
    return [*loaded, f"{own}\nwindow.whimbrel.kernels.add('{_KERNEL}')"]


def with_styles(layout: pn.viewable.Viewable, root: Model, changed: Any, _old: Any) -> None:
    """Put style sheets into a view that is about to be shown, each once; Panel does it for every model on its own."""
    if changed is not layout:
        return
    sheets: dict[str, InlineStyleSheet | ImportedStyleSheet] = {}
    for model in root.select({"type": UIElement}):
        model.stylesheets = [sheets.setdefault(each.url, replace_inline_css(each))
                             if isinstance(each, ImportedStyleSheet) else each for each in model.stylesheets]


def guarded(html: str, view: str, still: str, sign: str) -> str:
    """A view that only a page with the scripts of this kernel shows, and whose data stay data.

    Panel writes a view's names and values as JSON into a script as they are: one that holds ``</script>`` would end
    it, and a page would run what follows.

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
    before, _, rest = html.partition(_SCRIPT_TAG)
    script, end, after = rest.rpartition(_SCRIPT_END)
    return f"{before}{_SCRIPT_TAG}{asked}{_inside_a_script(script)}{end}{after}"


def _inside_a_script(text: str) -> str:
    r"""The same script, in which nothing ends it or begins a comment of HTML: both can stand in texts only.

    >>> _inside_a_script('say("</script><!--")')
    'say("\\u003c/script>\\u003c!--")'
    """
    return text.replace("</", r"\u003c/").replace("<!--", r"\u003c!--")
