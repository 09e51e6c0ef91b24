"""Queries of the Nexmark benchmark as texts, equal to DuckDB's answer over the same rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.test_random_queries import multiset
from tests.engine.sql.test_tables import duck

DRAW = random.Random(5)
BIDS = pa.table({
    "auction": [DRAW.choice([0, 0, 0, DRAW.randrange(20)]) for _ in range(200)],
    "bidder": [DRAW.randrange(10) for _ in range(200)], "price": [DRAW.randrange(1_000) for _ in range(200)],
    "channel": [DRAW.choice(["apple", "Google", "other"]) for _ in range(200)],
    "ts": pa.array([300 * number for number in range(200)], pa.timestamp("ms"))})
AUCTIONS = pa.table({"id": list(range(20)), "item": [f"i{number}" for number in range(20)],
                     "category": [9 + number % 3 for number in range(20)],
                     "ts": pa.array([2_000 * number for number in range(20)], pa.timestamp("ms"))})
SIDE = pa.table({"key": list(range(20)), "value": [f"v{number}" for number in range(20)]})
STREAMS = {"bid": wb.from_arrow(BIDS, time="ts", name="bid"),
           "auction": wb.from_arrow(AUCTIONS, time="ts", name="auction"), "side": SIDE}
TABLES = {"bid": BIDS, "auction": AUCTIONS, "side": SIDE}

ALIKE = {
    "q0": "SELECT auction, bidder, price FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE mod(auction, 5) = 0",
    "q13": "SELECT b.auction, b.price, s.value FROM bid b JOIN side s ON b.auction = s.key",
    "q14": "SELECT auction, 0.908 * price AS p, CASE WHEN hour(ts) >= 8 AND hour(ts) <= 18 THEN 'day' ELSE 'night' END "
           "AS kind FROM bid WHERE 0.908 * price > 100 AND 0.908 * price < 500",
    "q15": "SELECT count(*) AS n, count(*) FILTER (WHERE price < 100) AS low, count(DISTINCT bidder) AS bidders, "
           "count(DISTINCT bidder) FILTER (WHERE price < 100) AS low_bidders FROM bid GROUP BY date_trunc('day', ts)",
    "q16": "SELECT channel, count(*) n, count(DISTINCT auction) a FROM bid GROUP BY channel, date_trunc('day', ts)",
    "q17": "SELECT auction, count(*) AS n, min(price) AS lo, max(price) AS hi, avg(price) AS m, sum(price) AS s "
           "FROM bid GROUP BY auction, date_trunc('day', ts)",
    "q21": "SELECT auction, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' END id "
           "FROM bid WHERE lower(channel) IN ('apple', 'google')",
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=list(ALIKE))
def test_the_answer_is_duckdbs(text: str) -> None:
    ours = wb.sql(text, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text, TABLES))


COUNTS = ("SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime FROM TABLE(HOP(TABLE bid, "
          "DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end")
HOT = (f"SELECT a.auction, a.num FROM ({COUNTS}) a JOIN (SELECT max(num) AS most, starttime, endtime FROM ({COUNTS}) "
       "GROUP BY starttime, endtime) m ON a.starttime = m.starttime AND a.endtime = m.endtime AND a.num >= m.most")


def test_q5_hot_items() -> None:
    counts = ("SELECT auction, count(*) AS num, w FROM bid JOIN (SELECT unnest(range(-10, 61, 2)) AS w) "
              "ON epoch(ts) >= w AND epoch(ts) < w + 10 GROUP BY auction, w")
    hot = f"WITH c AS ({counts}) SELECT auction, num FROM c QUALIFY num = max(num) OVER (PARTITION BY w)"
    ours = wb.sql(HOT, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(hot, TABLES))


def test_q7_highest_bid() -> None:
    highest = ("SELECT b.auction, b.price FROM TUMBLE(bid, ts, INTERVAL '10' SECOND) b JOIN (SELECT max(price) most, "
               "window_start FROM TUMBLE(bid, ts, INTERVAL '10' SECOND) GROUP BY window_start) m "
               "ON b.price = m.most AND b.window_start = m.window_start")
    theirs = ("SELECT auction, price FROM bid "
              "QUALIFY price = max(price) OVER (PARTITION BY time_bucket(INTERVAL '10' SECOND, ts))")
    ours = wb.sql(highest, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(theirs, TABLES))


def test_q20_bids_with_their_auction() -> None:
    known = "SELECT b.price, a.item FROM bid b JOIN HOLD(auction) a ON b.auction = a.id WHERE a.category = 10"
    theirs = "SELECT price, item FROM bid b JOIN auction a ON b.auction = a.id AND a.ts <= b.ts WHERE category = 10"
    ours = wb.sql(known, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(theirs, TABLES))


def test_windows_of_different_sizes_do_not_meet() -> None:
    other = COUNTS.replace("'10' SECOND", "'20' SECOND")
    with pytest.raises(wb.SqlError, match="relates no times"):
        wb.sql(f"SELECT a.num FROM ({COUNTS}) a JOIN ({other}) b ON a.starttime = b.starttime", **STREAMS)


def test_the_wall_clock_is_refused() -> None:
    with pytest.raises(wb.SqlError, match="A window needs the event time"):
        wb.sql("SELECT bidder, count(*) FROM TUMBLE(bid, proctime(), INTERVAL '10' SECOND) GROUP BY ALL", **STREAMS)
