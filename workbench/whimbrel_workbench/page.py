"""The notebook page: scripts that need no internet, the cell that shows a view, and its last frame as an output."""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

import panel as pn
from bokeh.util.warnings import BokehUserWarning
from IPython import get_ipython
from IPython.display import publish_display_data
from IPython.utils.capture import capture_output
from panel.io.notebook import EXEC_MIME, LOAD_MIME, load_notebook

Bundle = tuple[dict[str, Any], dict[str, Any]]

_KERNEL: Final = uuid.uuid4().hex
_MARK: Final = f"(window.whimbrelPages = window.whimbrelPages || new Set()).add('{_KERNEL}');"
"""Set by the scripts, which are never saved: a page without it shows the last frame and starts nothing."""

_KEYS: Final = """
if (!window.whimbrelKeys) {
  window.whimbrelKeys = true
  window.addEventListener("keydown", (event) => {
    const view = event.target, inner = event.composedPath()[0]
    if (inner !== view && view.className?.startsWith?.("bk-")) {
      view.toggleAttribute("data-lm-suppress-shortcuts", inner.matches("select, input, textarea, [role=slider]"))
    }
  }, true)
}
"""
"""JupyterLab takes arrows and letters for its own where it sees no text field, and it does not see into a view."""

_SCRIPT_TAG: Final = '<script type="application/javascript">'
_BEFORE_VIEW: Final = """
if (window.whimbrelPages?.has("%(kernel)s")) {
  const style = document.createElement("style")
  style.textContent = ".whimbrel-drawn.whimbrel-%(still)s { display: none }"
  document.head.append(style)
  const watch = setInterval(() => {
    const view = window.Bokeh?.index["%(view)s"]
    if (!view) return
    clearInterval(watch)
    view.model.document.get_model_by_id("%(drawn)s").active = true
  }, 25)
}
if (window.whimbrelPages?.has("%(kernel)s")) """

_DRAWS_WITHIN_S: Final = 2.0
_ON_THE_WAY: Final = 2
"""So many messages may wait to be painted: with one, a fast page would wait for each answer's way back."""

_PATIENCE_S: Final = 2.0
_MOST_PATIENCE_S: Final = 16.0
_DEAF_S: Final = 0.4
_ANSWER: Final = "requestAnimationFrame(() => setTimeout(() => { source.value = source.placeholder }))"
"""When a page has painted what it was sent, it says so; a tab that nobody sees paints nothing and says nothing."""

_served: set[str] = set()
_executing: Final = threading.Event()
"""A cell is being executed."""

_collected: ContextVar[list[Any] | None] = ContextVar("whimbrel_collected", default=None)


def in_notebook() -> bool:
    """Whether somebody's page, and not just a terminal, will show outputs."""
    return getattr(get_ipython(), "kernel", None) is not None


@contextmanager
def collecting() -> Iterator[list[Any]]:
    """Keep what is shown meanwhile instead of showing it: a served page comes later."""
    kept: list[Any] = []
    before = _collected.set(kept)
    try:
        yield kept
    finally:
        _collected.reset(before)


def collect(shown: object) -> bool:
    """Keep what would be shown, if somebody collects it."""
    kept = _collected.get()
    if kept is None:
        return False
    kept.append(shown)
    return True


def cell() -> str:
    """Name of the cell that is being executed."""
    parent = _parent()
    return str(parent.get("metadata", {}).get("cellId") or parent.get("header", {}).get("msg_id", "page"))


def _watch_cells() -> None:
    """Know when cells are executed, from the present one on."""
    shell = get_ipython()
    if shell is not None and not _executing.is_set() and _executing.set not in shell.events.callbacks["pre_execute"]:
        shell.events.register("pre_execute", _executing.set)
        shell.events.register("post_execute", _executing.clear)
        _executing.set()


def soon(action: Callable[[], None]) -> None:
    """Do something on the kernel's own loop, between cells; at once where there is no kernel."""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        action()
    else:
        kernel.io_loop.add_callback(action)


class Output:
    """Where one view lives on the page: its scripts, its last frame, and the view itself.

    A page says when it has drawn the view; before that, a change to the view would be lost on the way. Since a busy
    kernel does not hear the page, the last frame stays visible until then.

    Parameters
    ----------
    layout : panel.viewable.Viewable
        The view.
    on_drawn : callable
        Called when a page has drawn the view.
    lock : context manager
        Held while a message of the page changes the view.
    """

    def __init__(self, layout: pn.Column, on_drawn: Callable[[], None], lock: AbstractContextManager[object]) -> None:
        self._layout = layout
        self._lock = lock
        self._on_drawn = on_drawn
        self._still_id = uuid.uuid4().hex
        self._scripts_id: str | None = None
        self._awaited = False
        self._opened_s = 0.0
        # The only way back from a page's script to the kernel is a widget's value.
        self._drawn = pn.widgets.Toggle(visible=False, width=0, height=0, margin=0)
        self._drawn.param.watch(self._heard, "value")
        self._painted = pn.widgets.TextInput(visible=False, width=0, height=0, margin=0)
        self._painted.jscallback(placeholder=_ANSWER)
        self._painted.param.watch(self._heard_painted, "value")
        self._sent_s, self._patience_s = 0.0, _PATIENCE_S
        layout.extend([self._drawn, self._painted])

    @property
    def reachable(self) -> bool:
        """Whether changes to the view arrive: no page shows it yet, or the page has drawn it."""
        return not self._awaited

    @property
    def ready(self) -> bool:
        """Whether the page has painted what it was sent, so that the next does not stand in a row.

        A page that does not answer is sent something now and then, ever more seldom: it may have missed the question.
        While a cell is being executed its answer may not be heard.
        """
        waited_s = time.monotonic() - self._sent_s
        return self._waiting < _ON_THE_WAY or waited_s > (_DEAF_S if _executing.is_set() else self._patience_s)

    def sending(self) -> None:
        """Part of every message: ask the page to answer when it has painted it."""
        if self._waiting >= _ON_THE_WAY and not _executing.is_set():
            self._patience_s = min(2 * self._patience_s, _MOST_PATIENCE_S)
        self._sent_s = time.monotonic()
        self._painted.placeholder = str(int(self._painted.placeholder or 0) + 1)

    @property
    def _waiting(self) -> int:
        """Messages that the page has not painted yet."""
        return int(self._painted.placeholder or 0) - int(self._painted.value or 0)

    def open(self) -> Bundle:
        """Publish what has to stand before the view, and return the view.

        In a page that never got the scripts (a saved notebook) the view stays empty and the last frame is shown.
        """
        _watch_cells()
        browser = str(_parent().get("header", {}).get("session", ""))
        if browser not in _served:
            _served.add(browser)
            self._scripts_id = uuid.uuid4().hex
            for script in _scripts():
                _publish({LOAD_MIME: script}, self._scripts_id)
        _publish({"text/html": ""}, self._still_id)
        self._drawn.value = False
        self._painted.value = self._painted.placeholder
        self._awaited, self._opened_s = True, time.monotonic()
        data, metadata = self._layout._repr_mimebundle_()
        view = metadata[EXEC_MIME]["id"]
        _hear(self._layout._comms[view][1], self._lock)  # noqa: SLF001 - Panel offers no other way to a view's comm
        drawn = self._drawn._models[view][0]  # noqa: SLF001 - a widget's model has no public door
        script = _BEFORE_VIEW % {"kernel": _KERNEL, "still": self._still_id, "view": view, "drawn": drawn.id}
        html = data["text/html"].replace(_SCRIPT_TAG, f"{_SCRIPT_TAG}{script}")
        return {"text/html": html, EXEC_MIME: "", "text/plain": "live view"}, metadata

    def keep(self, still: str) -> None:
        """Replace the last frame, which a page shows while no view is alive in it."""
        # A page draws within a moment: showing the last frame for that moment would only flicker.
        soon = time.monotonic() - self._opened_s < _DRAWS_WITHIN_S
        drawn = "whimbrel-drawn " if self.reachable or soon else ""
        html = f'<div class="{drawn}whimbrel-{self._still_id}">{still}</div>'
        _publish({"text/html": html}, self._still_id, update=True)

    def _heard_painted(self, _event: Any) -> None:
        self._patience_s = _PATIENCE_S

    def _heard(self, event: Any) -> None:
        if not event.new:
            return
        self._awaited = False
        if self._scripts_id is not None:
            # The page has run the scripts, which weigh megabytes: they need not be saved with the notebook.
            _publish({"text/html": ""}, self._scripts_id, update=True)
            self._scripts_id = None
        self._on_drawn()


@contextmanager
def one_message(layout: pn.viewable.Viewable) -> Iterator[None]:
    """Send every change made inside as one message: the page then lays itself out once, not once per change."""
    with pn.io.notebook.block_comm():
        yield
    heard = list(_take_heard(layout))
    pn.io.push_notebook(layout)
    for held, events in heard:
        held._held_events[:0] = events  # noqa: SLF001


def _take_heard(layout: pn.viewable.Viewable) -> Iterator[tuple[Any, list[Any]]]:
    """What a message of the page changed, and nobody was told of yet: pushing would send it back, and tell nobody."""
    for view in layout._models:  # noqa: SLF001
        changes = pn.state._views[view][2].callbacks  # noqa: SLF001
        heard = [event for event in changes._held_events if event.setter is not None]  # noqa: SLF001
        changes._held_events = [event for event in changes._held_events if event.setter is None]  # noqa: SLF001
        yield changes, heard


def _hear(comm: Any, lock: AbstractContextManager[object]) -> None:
    """Let a comm handle the page's messages on whatever thread they come.

    JupyterLab sends them over subshells, so they are handled beside the cell that is being executed. The comm's own way
    of handling replaces ``sys.stdout`` meanwhile, and what the cell prints would be lost.
    """
    def handle(message: dict[str, Any]) -> None:
        said = comm.decode(message)
        reply = {"msg_type": "Ready", "content": "", "comm_id": said.pop("comm_id", None)}
        try:
            with lock:
                comm._on_msg(said)  # noqa: SLF001
        except Exception as error:
            reply |= {"msg_type": "Error", "traceback": f"{type(error).__name__}: {error}"}
            raise
        finally:
            comm.send(metadata=reply)

    comm._handle_msg = handle  # noqa: SLF001


def _publish(data: dict[str, Any], display_id: str, *, update: bool = False) -> None:
    publish_display_data(data, transient={"display_id": display_id}, update=update)  # type: ignore[no-untyped-call]


def _parent() -> dict[str, Any]:
    """The message that asked for the cell that is being executed."""
    kernel = getattr(get_ipython(), "kernel", None)
    return dict(kernel.get_parent()) if kernel is not None else {}


def _scripts() -> list[str]:
    """The scripts of Bokeh and Panel as text, whoever loaded the extension before and from wherever."""
    # Pages tell of models that came with an earlier message as if they were new; nothing follows from it.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    with capture_output():
        pn.extension(inline=True)
    with capture_output() as captured:
        load_notebook(inline=True)
    return [*(out.data[LOAD_MIME] for out in captured.outputs if LOAD_MIME in out.data), _MARK + _KEYS]
