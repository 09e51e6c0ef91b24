"""A cell that runs again ends what it ran before, and frees everything in the kernel."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.slow

SETUP = """
import gc, json, threading, numpy as np, psutil, pyarrow as pa, whimbrel as wb
at = np.arange(0, 2_000_000, 10)
log = wb.from_arrow(pa.table({"at": at, "k": at % 7}), time="at", name="log")
query = log.group_by("k").tumbling_window(1_000).aggregate(n=wb.count()).on(wb.replay(log, speed=50_000))
"""
WHAT_THERE_IS = """
from panel.io.state import state
from whimbrel_workbench.live_view import LiveView
gc.collect()
me, comms = psutil.Process(), get_ipython().kernel.comm_manager
print(json.dumps({
    "threads": sorted(thread.name for thread in threading.enumerate()), "open files": me.num_fds(),
    "views": sum(isinstance(each, LiveView) for each in gc.get_objects()), "shown": len(state._views),
    "comms": len(comms.comms), "targets": len(comms.targets), "kept comms": len(state._comm_manager._comms),
    "MB": me.memory_info().rss >> 20}))
"""


@pytest.fixture(name="kernel")
def _kernel() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel()
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(kernel: BlockingKernelClient, code: str, cell: str | None = None) -> str:
    """What a cell prints."""
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
               "stop_on_error": True}
    asked = kernel.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
    kernel.shell_channel.send(asked)
    said = []
    while True:
        message = kernel.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != asked["header"]["msg_id"]:
            continue
        match message["msg_type"]:
            case "stream":
                said.append(message["content"]["text"])
            case "error":
                raise AssertionError("\n".join(message["content"]["traceback"]))
            case "status" if message["content"]["execution_state"] == "idle":
                return "".join(said)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of the client's connection
@pytest.mark.parametrize("runs", [12, pytest.param(100, marks=pytest.mark.soak)])
def test_runs_leave_a_kernel_as_it_was(kernel: BlockingKernelClient, runs: int) -> None:
    run(kernel, SETUP)
    seen = []
    for number in range(runs + 1):
        run(kernel, "query", cell="the same")
        if number in (1, runs // 2, runs):
            time.sleep(1)
            seen.append(json.loads(run(kernel, WHAT_THERE_IS).splitlines()[-1]))
    loose = "MB", "open files"
    first, half, last = ({name: count for name, count in found.items() if name not in loose} for found in seen)
    assert first["views"] == 1
    assert [name for name in first["threads"] if name.startswith("whimbrel-view")] == ["whimbrel-view"]
    assert first == half == last
    assert seen[2]["open files"] <= seen[0]["open files"] + 3
    assert seen[2]["MB"] - seen[1]["MB"] < 40, seen


@pytest.mark.filterwarnings("ignore")
def test_another_cell_keeps_its_view(kernel: BlockingKernelClient) -> None:
    run(kernel, SETUP + "view = query.view()")
    run(kernel, "view", cell="one")
    run(kernel, "query", cell="two")
    run(kernel, "query", cell="two")
    assert run(kernel, "print(view.run.state)") == "running\n"
    run(kernel, "view", cell="two")  # two cells show it now
    run(kernel, "query", cell="one")
    assert run(kernel, "print(view.run.state)") == "running\n"
    run(kernel, "query", cell="two")
    assert run(kernel, "view.run.wait(10); print(view.run.state)") == "stopped\n"
    run(kernel, "views = query.view(), query.view()")
    run(kernel, "display(*views, views[0])", cell="one")
    assert run(kernel, "print(*[view.run.state for view in views])") == "running running\n"
    run(kernel, "query", cell="one")
    stopped = "for view in views: view.run.wait(10)\nprint(*[view.run.state for view in views])"
    assert run(kernel, stopped) == "stopped stopped\n"


@pytest.mark.filterwarnings("ignore")
def test_a_cell_alone_restarts_its_replay_and_one_of_several_continues_with_them(
        kernel: BlockingKernelClient) -> None:
    run(kernel, SETUP)
    first = "first = query.view(); first"
    run(kernel, first, cell="one")
    run(kernel, "clock = first.run.clock")
    run(kernel, first, cell="one")
    assert run(kernel, "print(first.run.clock is clock)") == "False\n"
    run(kernel, "second = query.view(); second", cell="two")
    run(kernel, "clock = first.run.clock")
    run(kernel, first, cell="one")
    assert run(kernel, "print(first.run.clock is clock is second.run.clock)") == "True\n"


@pytest.mark.filterwarnings("ignore")
def test_what_views_need_is_loaded_while_nobody_waits(kernel: BlockingKernelClient) -> None:
    assert run(kernel, "import sys, whimbrel; print('panel' in sys.modules)") == "False\n"
    time.sleep(1)
    assert run(kernel, "print('panel' in sys.modules)") == "True\n"
