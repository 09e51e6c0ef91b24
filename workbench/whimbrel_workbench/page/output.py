"""The output of a view on a notebook page, and its messages."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Literal, cast, get_args

import panel as pn
from bokeh.document import Document
from bokeh.protocol.message import Message
from IPython.display import publish_display_data
from panel.io.model import diff
from panel.io.notebook import EXEC_MIME, LOAD_MIME, push
from panel.io.state import state

from whimbrel_workbench.page.import_lock import apart_from_imports, wait_for_import
from whimbrel_workbench.page.notebook import executing, parent, watch_cells
from whimbrel_workbench.page.scripts import guarded, scripts, with_styles
from whimbrel_workbench.page_messages import PageMessage

Bundle = tuple[dict[str, Any], dict[str, Any]]

Sign = Literal["seen", "away", "hidden", "gone"]
"""What a page reports of a view: it is visible; its tab or its position is out of sight; its output is collapsed or
not the shown one; the page ends."""

_ON_THE_WAY: Final = 2
"""So many messages may wait to be painted: with one, a fast page would wait for each answer's way back."""

_TIMEOUT_S: Final = 2.0
_MAX_TIMEOUT_S: Final = 16.0
_DEAF_S: Final = 0.4
_ANSWER: Final = "requestAnimationFrame(() => setTimeout(() => { source.value = source.placeholder }))"
"""When a page has painted what it was sent, it says so; a tab that nobody sees paints nothing and says nothing."""

_ENDED: Final = "ended"
"""Instead of a page's name: nothing more will come."""

_LARGE_BYTES: Final = 1 << 16

_served: set[str] = set()
_open: dict[str, Output] = {}


class Output:
    """One place on the page in which a view stands: its scripts, its last frame, and the view itself.

    A page says when it has drawn the view; before that, a change to the view would be lost on the way. The view belongs
    to the first page that says so. Where it gets no answer, since the kernel is busy or the view is another page's, it
    shows the last frame.

    Parameters
    ----------
    layout : panel.viewable.Viewable
        The view.
    on_drawn : callable
        Called when a page has drawn the view.
    on_sign : callable
        Called with the view's id and each :data:`Sign` of it.
    on_closed : callable
        Called when it is not there any more.
    lock : context manager
        Held while a message of the page changes the view.

    Attributes
    ----------
    view : str
        Its id on the page; empty before it is there.
    """

    def __init__(self, layout: pn.Column, on_drawn: Callable[[], None], on_sign: Callable[[str, Sign], None],
                 on_closed: Callable[[], None], lock: AbstractContextManager[object]) -> None:
        self._layout = layout
        self._lock = lock
        self._on_drawn, self._on_sign = on_drawn, on_sign
        self._on_closed = on_closed
        self._still_id = uuid.uuid4().hex
        self._scripts_id: str | None = None
        self._awaited = False
        self.view = ""
        self._comms: Sequence[Any] = ()
        # The only way back from a page's script to the kernel is a widget's value.
        self._sign = PageMessage()
        self._sign.param.watch(self._received, "value")
        self._painted = PageMessage()
        self._painted.jscallback(placeholder=_ANSWER)
        self._painted.param.watch(self._received_painted, "value")
        self._sent_s, self._timeout_s = 0.0, _TIMEOUT_S
        layout.extend([self._sign, self._painted])
        layout._hooks.append(with_styles)  # noqa: SLF001 - to be given when it is made only

    @property
    def reachable(self) -> bool:
        """Whether changes to the view arrive: no page shows it yet, or the page has drawn it."""
        return not self._awaited

    @property
    def ready(self) -> bool:
        """Whether the page has painted what it was sent, so that the next does not stand in a row.

        A page that does not answer is sent something now and then, ever more seldom: it may have missed the question.
        While a cell is being executed the kernel may not read its answer.
        """
        waited_s = time.monotonic() - self._sent_s
        return self._waiting < _ON_THE_WAY or waited_s > (_DEAF_S if executing() else self._timeout_s)

    def sending(self) -> None:
        """Part of every message: ask the page to answer when it has painted it."""
        if self._waiting >= _ON_THE_WAY and not executing():
            self._timeout_s = min(2 * self._timeout_s, _MAX_TIMEOUT_S)
        self._sent_s = time.monotonic()
        self._painted.placeholder = str(int(self._painted.placeholder or 0) + 1)

    @property
    def _waiting(self) -> int:
        """Messages that the page has not painted yet."""
        return int(self._painted.placeholder or 0) - int(self._painted.value or 0)

    def open(self) -> Bundle:
        """Publish what has to stand before the view; the view itself.

        In a page that never got the scripts (a saved notebook) the view stays empty and the last frame is shown.
        """
        watch_cells()
        browser = str(parent().get("header", {}).get("session", ""))
        if browser not in _served:
            _served.add(browser)
            _begin_upkeep()
            self._scripts_id = uuid.uuid4().hex
            _publish({LOAD_MIME: scripts()}, self._scripts_id)
        _publish({"text/html": ""}, self._still_id)
        self._painted.value = self._painted.placeholder
        data, metadata = self._layout._repr_mimebundle_()
        self.view = view = metadata[EXEC_MIME]["id"]
        self._awaited = True
        self._comms = self._layout._comms[view]  # noqa: SLF001 - Panel offers no other way to a view's comms
        _hear(self._comms[1], self._lock)
        sign = self._sign._models[view][0]  # noqa: SLF001 - a widget's model has no public door
        _open[view] = self
        html = guarded(data["text/html"], view, self._still_id, sign.id)
        return {"text/html": html, EXEC_MIME: "", "text/plain": "live view"}, metadata

    def keep(self, still: str) -> None:
        """Replace the last frame, which a page shows while no view is alive in it."""
        _publish({"text/html": f'<div class="whimbrel-{self._still_id}">{still}</div>'}, self._still_id, update=True)

    def close(self) -> None:
        """It is not there any more: forget all that stands for it in the kernel."""
        with self._lock:
            if _open.pop(self.view, None) is None:
                return
            if self.reachable:  # the page of another window still shows the old run
                self._sign.placeholder = _ENDED
            _, root, document, _ = state._views.pop(self.view, (None,) * 4)  # noqa: SLF001 - as Panel does
            if root is not None:
                self._layout._cleanup(root)  # noqa: SLF001
                # A place's style sheets hold its document by which Panel keeps them, and so all of the view for good.
                state._stylesheets.pop(document, None)  # noqa: SLF001
            for comm in self._comms:
                _close(comm)
            self._on_closed()

    def _received_painted(self, _event: Any) -> None:
        self._timeout_s = _TIMEOUT_S

    def _received(self, event: Any) -> None:
        said, browser, count, *_ = [*str(event.new).split(" "), "", ""]
        if said not in get_args(Sign) or self.view not in _open:
            return  # a page may say what it likes
        if browser != (self._sign.placeholder.partition(" ")[0] or browser):
            return  # what is drawn here does not reach it: a notebook that was saved with its scripts, and opened again
        drawn, self._awaited = self._awaited, False
        self._sign.placeholder = f"{browser} {count}"  # a page that gets no answer shows the last frame
        if self._scripts_id is not None:
            # The page has run the scripts, which weigh megabytes: they need not be saved with the notebook.
            _publish({"text/html": ""}, self._scripts_id, update=True)
            self._scripts_id = None
        self._on_sign(self.view, cast(Sign, said))
        if drawn:
            self._on_drawn()


def _removed(view: str) -> None:
    """JupyterLab says that the output of a view is not there any more."""
    output = _open.get(view)
    if output is not None:
        output.close()


pn.extension.add_delete_action(_removed)


@contextmanager
def one_message(layout: pn.viewable.Viewable) -> Iterator[None]:
    """Send every change made inside as one message: the page then lays itself out once, not once per change."""
    with apart_from_imports():
        with pn.io.notebook.block_comm():
            yield
        received = list(_take_received(layout))
        for view in layout._models:  # noqa: SLF001
            _push(*pn.state._views[view][2:])  # noqa: SLF001
        for held, events in received:
            held._held_events[:0] = events  # noqa: SLF001


def _push(document: Document, comm: Any) -> None:
    """Send what changed as few messages: each takes a notebook's page and its server about as long as a small picture.

    Panel sends two more for every column of a chart; those that are small go as text with the rest.
    """
    message = diff(document)
    if message is None:
        return
    large = {buffer.id: buffer for buffer in message.buffers if memoryview(buffer.data).nbytes > _LARGE_BYTES}
    content = json.dumps(message.content, allow_nan=False,
                         default=lambda each: each.ref if each.id in large else each.to_base64())
    header = json.dumps({**message.header, "num_buffers": len(large)})
    sent = Message.assemble(header, message.metadata_json, content)
    sent._buffers = list(large.values())  # noqa: SLF001 - those that its header counts
    push(document, comm, msg=sent)


def _take_received(layout: pn.viewable.Viewable) -> Iterator[tuple[Any, list[Any]]]:
    """Changes by a message of the page that have no listener calls yet. Pushing would send them back instead."""
    for view in layout._models:  # noqa: SLF001
        changes = pn.state._views[view][2].callbacks  # noqa: SLF001
        received = [event for event in changes._held_events if event.setter is not None]  # noqa: SLF001
        changes._held_events = [event for event in changes._held_events if event.setter is None]  # noqa: SLF001
        yield changes, received


def _begin_upkeep() -> None:
    """Begin what Panel repeats for good before there is a view: begun by a page's first click, it keeps that view."""
    getattr(state, "_schedule_busy_cleanup", lambda: None)()


def _hear(comm: Any, lock: AbstractContextManager[object]) -> None:
    """Let a comm handle the page's messages on whatever thread they come.

    JupyterLab sends them over subshells, so they are handled while a cell is being executed. The comm's own way
    of handling replaces ``sys.stdout`` meanwhile, and what the cell prints would be lost. A page that hears nothing
    opens it again.
    """
    def handle(message: dict[str, Any]) -> None:
        said = comm.decode(message)
        reply = {"msg_type": "Ready", "content": "", "comm_id": said.pop("comm_id", None)}
        try:
            with lock:
                wait_for_import()  # only that: what is asked for may reach views whose threads change them now
                for each in _one_by_one(said):
                    comm._on_msg(each)  # noqa: SLF001
        except Exception as error:
            reply |= {"msg_type": "Error", "traceback": f"{type(error).__name__}: {error}"}
            raise
        finally:
            comm.send(metadata=reply)

    def opened(again: Any, message: dict[str, Any]) -> None:
        before = comm._comm  # noqa: SLF001
        if before is not None and before.comm_id == again.comm_id:
            before._closed = True  # noqa: SLF001 - else it tells the page, when it is forgotten, that both are closed
        comm._handle_open(again, message)  # noqa: SLF001

    comm._handle_msg = handle  # noqa: SLF001
    comm.manager.register_target(comm.id, opened)


def _one_by_one(said: dict[str, Any]) -> list[dict[str, Any]]:
    """A message with a choice and the click after it as two: otherwise the click would be handled first."""
    events = said.get("content", {}).get("events", [])
    if said.get("_buffers") or all(event["kind"] == "ModelChanged" for event in events):
        return [said]
    return [said | {"content": said["content"] | {"events": [event]}} for event in events]


def _close(comm: Any) -> None:
    """Close a comm of Panel's, and take it off the lists on which it stands."""
    state._comm_manager._comms.pop(comm.id, None)  # noqa: SLF001 - Panel keeps every comm for good
    targets = getattr(getattr(comm, "manager", None), "targets", {})
    if comm._comm is not None:  # noqa: SLF001 - else no page ever opened it
        comm.close()
    targets.pop(comm.id, None)


def _publish(data: dict[str, Any], display_id: str, *, update: bool = False) -> None:
    publish_display_data(data, transient={"display_id": display_id}, update=update)  # type: ignore[no-untyped-call]
