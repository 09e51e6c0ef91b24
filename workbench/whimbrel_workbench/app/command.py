"""The commands ``whimbrel serve`` and ``whimbrel demo``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whimbrel.errors import MissingExtraError
from whimbrel_workbench.app.network_access import NetworkAccess, new_token

if TYPE_CHECKING:
    from whimbrel_workbench.workspace import Dashboard

_TOKEN_VARIABLE = "WHIMBREL_TOKEN"  # noqa: S105 - the name of a variable, not a token


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands; plotting libraries are imported when one of them runs."""
    serve = commands.add_parser(
        "serve", help="serve a script or notebook as a dashboard",
        description="Run a script or notebook once and serve what it shows as a dashboard, on this machine, with a "
                    f"token. The token is random unless {_TOKEN_VARIABLE} is set.")
    serve.add_argument("path", type=Path, metavar="app.py|notebook.ipynb", help="script or notebook to serve")
    serve.add_argument("--allow-control", action="store_true", help="let pages pause, stop and restart the run")
    serve.set_defaults(run=_serve)
    demo = commands.add_parser("demo", help="serve a sample dashboard of a month of flights",
                               description="Serve a dashboard of a month of flights.")
    demo.set_defaults(run=_demo, allow_control=True)
    for parser in (serve, demo):
        parser.add_argument("--port", type=int, default=5006, help="port, 0 for any free one (default: 5006)")
        parser.add_argument("--address", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--allow-origin", action="append", default=[], metavar="HOST[:PORT]",
                            help="another host name by which browsers reach the dashboard; can be repeated")
        parser.add_argument("--no-token", action="store_true", help="let everybody on this machine open it")
        parser.add_argument("--pause-unwatched", action="store_true", help="pause the run while no page shows it")
        parser.add_argument("--show", action="store_true", help="open the dashboard in a browser")


def _serve(options: argparse.Namespace) -> int:
    exposure = _exposure(options)
    _need_workbench("whimbrel serve")
    from whimbrel_workbench.app.script import dashboard_of

    return _open(dashboard_of(options.path), exposure, options)


def _demo(options: argparse.Namespace) -> int:
    exposure = _exposure(options)
    _need_workbench("whimbrel demo")
    from whimbrel_workbench.app.demo import demo

    return _open(demo(), exposure, options)


def _exposure(options: argparse.Namespace) -> NetworkAccess:
    token = None if options.no_token else os.environ.get(_TOKEN_VARIABLE) or new_token()
    return NetworkAccess(options.address, options.port, tuple(options.allow_origin), token)


def _need_workbench(purpose: str) -> None:
    if find_spec("panel") is None:
        raise MissingExtraError("panel", "workbench", purpose)


def _open(dashboard: Dashboard, exposure: NetworkAccess, options: argparse.Namespace) -> int:
    from whimbrel_workbench.app.server import Server

    server = Server(dashboard, exposure, control=options.allow_control, pause_unwatched=options.pause_unwatched)
    sys.stdout.write(f"{dashboard.title}\n  {server.exposure.url}\n")
    if not exposure.is_local:
        sys.stdout.write("  Reachable from the network, without encryption: use a proxy with TLS.\n")
    sys.stdout.write("  Press Ctrl-C to stop.\n")
    sys.stdout.flush()
    if options.show:
        webbrowser.open(server.exposure.url)

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.default_int_handler)  # a second one interrupts whatever is done
        server.stop()

    # An interrupt is lost where Python cleans up, and a page that moves has it clean up all the time.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    server.run()
    return 0
