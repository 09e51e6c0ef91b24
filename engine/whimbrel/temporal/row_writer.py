"""Write the loop that writes the rows of a periodic loop."""

from __future__ import annotations

from whimbrel.kernels.source_text import indented
from whimbrel.temporal.loop_steps import PeriodicStep
from whimbrel.temporal.slot_code import SlotStream, both
from whimbrel.temporal.step_writer import StepWriter, zero


def row_loop(writer: StepWriter, last: PeriodicStep, *, timed: bool) -> tuple[SlotStream, list[str]]:
    """The result at one slot, and the loop that writes its rows.

    Parameters
    ----------
    writer : StepWriter
    last : PeriodicStep
    timed : bool
        Whether it writes times also where there is a row for every place.
    """
    loop = writer.begin()
    result = writer.stream(last, 0)
    alone = result.changes is None or result.recomputed
    everywhere = result.present is None and alone and not timed
    going = "True" if result.present is None else result.present.text
    row = "uintp(at - first)" if everywhere else "uintp(done)"
    write = [] if everywhere else [f"out_sync[{row}] = time + at * period"]
    for at, value in enumerate(result.columns):
        valid = both(*value.valid)
        if valid is None:
            write.append(f"out{at}[{row}] = {value.text}")
            continue
        otherwise = zero(last.schema.fields[at].type)
        write += [f"out{at}[{row}] = {value.text} if {valid.text} else {otherwise}",
                  f"out{at}_valid[{row}] = {valid.text}"]
    if everywhere:
        return result, [*loop.over("first", "stop", write), "count[0], count[1] = stop - first, True",
                        "count[2], count[3] = True, time + first * period"]
    if result.changes is None or result.recomputed:
        lines = [*write, f"going = {going}", "done += going"]
        return result, ["done, going = 0, False", *loop.over("first", "stop", lines),
                        "count[0], count[1] = done, going", "count[2], count[3] = True, time + first * period"]
    lines = [
        f"if {result.changes.text}:",
        *indented(["out_end[uintp(done - going)] = time + at * period",  # where none continues, it is written again
                   "if not count[2]:", "    count[2], count[3] = True, time + at * period",
                   *write, f"going = {going}", "done += going"])]
    return result, ["done, going, count[2] = 0, False, False", *loop.over("first", "stop", lines, result.changes),
                    "count[0], count[1] = done, going"]
