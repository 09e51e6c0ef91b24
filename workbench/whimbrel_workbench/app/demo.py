"""The dashboard of ``whimbrel demo``: a replay of a month of flights."""

from __future__ import annotations

import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.workspace import Dashboard


def demo() -> Dashboard:
    """Departures of December 2013, five thousand times as fast as they happened."""
    flights = wb.datasets.flights()
    december = wb.replay(flights, speed=5000, start="2013-12-01", reorder_latency="12h", late="drop")
    origins = flights.group_by("origin")
    hourly = origins.tumbling_window("1h").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay)).on(december)
    daily = origins.tumbling_window("1d").aggregate(flights=wb.count()).on(december)
    carriers = flights.group_by("carrier").tumbling_window("52w").aggregate(flights=wb.count()).on(december)
    return Dashboard("Departures from New York, December 2013", {
        "Mean delay per hour, in minutes": hourly.view(y="delay"),
        "Flights per day": daily,
        "Flights by carrier": carriers.view(kind="bars"),
        "Newest hours": hourly.view(kind="table"),
    })
