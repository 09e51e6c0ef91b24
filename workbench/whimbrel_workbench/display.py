"""The entry point by which the engine shows a query in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from whimbrel.progressive import ProgressiveQuery
    from whimbrel.stream import LatencyBands, Stream
    from whimbrel.stream.desk import Desk
    from whimbrel_workbench.desk_view import DeskView
    from whimbrel_workbench.live_view import LiveView
    from whimbrel_workbench.page import Bundle


class Show:
    """Entry point that shows a query as a live view.

    Called with a query, it starts the query and returns the live view as a MIME bundle.

    Plotting libraries are imported when the first view is made, or by :meth:`prepare`, not when the entry point is
    found.
    """

    def prepare(self) -> None:
        """Import what the first view needs."""
        import whimbrel_workbench.live_view  # noqa: F401

    def __call__(self, query: Stream | LatencyBands | ProgressiveQuery | Desk) -> Bundle:
        """The live view of a query, as the last expression of a cell shows it."""
        return self.view(query)._repr_mimebundle_()

    def view(self, query: Stream | LatencyBands | ProgressiveQuery | Desk, **options: Any) -> LiveView | DeskView:
        """Make the live view of a query, or of a desk.

        With the view you choose its kind, read its run, or overlay ``view.hv``.

        Parameters
        ----------
        query : Stream, LatencyBands, ProgressiveQuery or Desk
            The query, possibly at several latencies or progressive; or a desk with all its queries.
        **options
            ``kind="lines" | "bars" | "table" | "number"``, ``y=`` value column, ``by=`` key columns, ``top=`` most
            lines, ``redraws_per_s=``.
        """
        from whimbrel.stream.desk import Desk
        from whimbrel_workbench.desk_view import DeskView
        from whimbrel_workbench.live_view import LiveView

        if isinstance(query, Desk):
            return DeskView(query, **options)
        return LiveView(query, **options)


show: Final = Show()
