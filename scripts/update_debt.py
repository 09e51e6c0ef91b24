"""Write into tests/house/vocabulary_debt.toml what the language checks still find, where a count fell.

A count that rose is not written: fix the text instead. ``--moved`` writes all counts, for a commit that only moves
files; it refuses if the total of a kind rose.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.house import debt


def main(*, moved: bool) -> int:
    found = debt.findings()
    before, now = (debt.allowed() if debt.FILE.exists() else {}), debt.counts(found)
    if moved:
        rose = [kind for kind, files in now.items() if before and sum(files.values()) > sum(before[kind].values())]
        if rose:
            print(f"more than before: {', '.join(rose)}")
            return 1
        debt.FILE.write_text(debt.written(now), encoding="utf-8")
    else:
        fewest = {kind: {file: fewer for file, count in files.items()
                        if (fewer := min(count, now.get(kind, {}).get(file, 0)))} for kind, files in before.items()}
        debt.FILE.write_text(debt.written(fewest), encoding="utf-8")
        print("\n".join(debt.risen(found, fewest)))
    totals = ", ".join(f"{sum(files.values())} {kind}" for kind, files in sorted(now.items()))
    print(f"open: {totals}")
    return 0


if __name__ == "__main__":
    sys.exit(main(moved="--moved" in sys.argv[1:]))
