"""Queries of the Nexmark benchmark as texts, equal to DuckDB's answer over the same rows."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pyarrow.compute as pc
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
                     "ts": pa.array([2_000 * number for number in range(20)], pa.timestamp("ms")),
                     "seller": [DRAW.choice([0, 0, DRAW.randrange(8)]) for _ in range(20)],
                     "expires": pa.array([2_000 * number + DRAW.choice([3_000, 20_000]) for number in range(20)],
                                         pa.timestamp("ms"))})
PERSONS = pa.table({"id": list(range(8)), "name": [f"p{number}" for number in range(8)],
                    "state": [DRAW.choice(["or", "id", "ca", "wa"]) for _ in range(8)],
                    "ts": pa.array([4_000 * number for number in range(8)], pa.timestamp("ms"))})
SIDE = pa.table({"key": list(range(20)), "value": [f"v{number}" for number in range(20)]})
STREAMS = {"bid": wb.from_arrow(BIDS, time="ts", name="bid"),
           "auction": wb.from_arrow(AUCTIONS, time="ts", name="auction"),
           "person": wb.from_arrow(PERSONS, time="ts", name="person"), "side": SIDE}
TABLES = {"bid": BIDS, "auction": AUCTIONS, "person": PERSONS, "side": SIDE}

ALIKE = {
    "q0": "SELECT auction, bidder, price FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE mod(auction, 5) = 0",
    "q10": "SELECT auction, bidder, price, hour(ts) * 60 + minute(ts) AS m FROM bid",
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


def test_q7_as_written() -> None:
    """A bid at the end of a window is in the bounds of two."""
    text = ("SELECT B.auction, B.price, B.bidder, B.channel FROM bid B JOIN (SELECT MAX(price) AS maxprice, "
            "window_end AS dateTime FROM {} GROUP BY window_start, window_end) B1 ON B.price = B1.maxprice "
            "WHERE B.ts BETWEEN B1.dateTime - INTERVAL '10' SECOND AND B1.dateTime")
    query = wb.sql(text.format("TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND))"), **STREAMS)
    start = "time_bucket(INTERVAL '10' SECOND, ts)"
    windows = f"(SELECT *, {start} AS window_start, {start} + INTERVAL '10' SECOND AS window_end FROM bid)"
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(duck(text.format(windows), TABLES))
    assert wb.sql(query.sql(), **STREAMS).explain() == query.explain()


def test_q20_bids_with_their_auction() -> None:
    known = "SELECT b.price, a.item FROM bid b JOIN HOLD(auction) a ON b.auction = a.id WHERE a.category = 10"
    theirs = "SELECT price, item FROM bid b JOIN auction a ON b.auction = a.id AND a.ts <= b.ts WHERE category = 10"
    ours = wb.sql(known, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(theirs, TABLES))


SO_FAR = {
    "q3": ("SELECT p.name, p.state, a.id FROM HOLD(auction) a JOIN HOLD(person) p ON a.seller = p.id "
           "WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')"),
    "q4": ("SELECT category, avg(final) AS price FROM (SELECT a.id, a.category, max(b.price) AS final FROM "
           "HOLD(auction) a JOIN HOLD(bid) b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires "
           "GROUP BY a.id, a.category) q GROUP BY category"),
    "q9": ("SELECT a.id, a.item, b.price FROM HOLD(auction) a JOIN HOLD(bid) b ON a.id = b.auction "
           "AND b.ts BETWEEN a.ts AND a.expires QUALIFY rank() OVER (PARTITION BY a.id ORDER BY b.price DESC) <= 1"),
    "q18": ("SELECT auction, bidder, price FROM HOLD(bid) "
            "QUALIFY rank() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) <= 1"),
    "q19": ("SELECT auction, price FROM HOLD(bid) "
            "QUALIFY rank() OVER (PARTITION BY auction ORDER BY price DESC) <= 10"),
    "q18 as written": ("SELECT auction, bidder, price, channel FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, "
                       "auction ORDER BY ts DESC) AS rank_number FROM bid) WHERE rank_number <= 1"),
    "q19 as written": ("SELECT auction, price, rank_number FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction "
                       "ORDER BY price DESC) AS rank_number FROM bid) WHERE rank_number <= 10"),
    "q23": ("SELECT b.price, p.name, a.item FROM HOLD(bid) b JOIN HOLD(person) p ON b.bidder = p.id "
            "JOIN HOLD(auction) a ON b.auction = a.id AND a.seller = p.id"),
}
"""Queries over all rows so far: at the end their answer is that of the whole tables."""


@pytest.mark.parametrize("text", SO_FAR.values(), ids=list(SO_FAR))
def test_the_last_answer_is_duckdbs(text: str) -> None:
    found = wb.sql(text, **STREAMS).collect()
    last = found.filter(pc.is_null(found["end"])).drop(["start", "end"])
    assert multiset(last.to_pylist()) == multiset(duck(re.sub(r"HOLD\((\w+)\)", r"\1", text), TABLES))


def test_q6_the_mean_of_the_last_prices() -> None:
    text = ("SELECT auction, avg(price) OVER (PARTITION BY auction ORDER BY ts ROWS BETWEEN 10 PRECEDING AND CURRENT "
            "ROW) AS m FROM bid")
    ours = wb.sql(text, **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text, TABLES))


def test_q8_new_persons_who_sell() -> None:
    windows = ["(SELECT id, name, window_start AS s FROM TUMBLE(person, ts, INTERVAL '10' SECOND) GROUP BY ALL) p",
               "(SELECT seller, window_start AS s FROM TUMBLE(auction, ts, INTERVAL '10' SECOND) GROUP BY ALL) a"]
    theirs = ("SELECT DISTINCT p.id, p.name FROM person p JOIN auction a ON p.id = a.seller AND "
              "time_bucket(INTERVAL '10' SECOND, p.ts) = time_bucket(INTERVAL '10' SECOND, a.ts)")
    ours = wb.sql(f"SELECT p.id, p.name FROM {windows[0]} JOIN {windows[1]} ON p.id = a.seller AND p.s = a.s",
                  **STREAMS).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(theirs, TABLES))


def test_q11_sessions_of_bidders() -> None:
    ours = wb.sql("SELECT bidder, count(*) AS n FROM SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), "
                  "INTERVAL '2' SECOND) GROUP BY bidder, window_start", **STREAMS)
    begins = ("SELECT bidder, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY bidder ORDER BY ts) < INTERVAL 2 SECOND "
              "THEN 0 ELSE 1 END AS new FROM bid")
    numbered = f"SELECT bidder, sum(new) OVER (PARTITION BY bidder ORDER BY ts) AS s FROM ({begins})"
    theirs = f"SELECT bidder, count(*) AS n FROM ({numbered}) GROUP BY bidder, s"
    assert multiset(ours.collect().drop(["start", "end"]).to_pylist()) == multiset(duck(theirs, TABLES))


REFUSED = {
    "q3": ("SELECT p.name FROM auction a JOIN person p ON a.seller = p.id", "or use ASOF JOIN, a table or HOLD(t)."),
    "q4": ("SELECT max(b.price) FROM auction a, bid b WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires",
           "or use ASOF JOIN, a table or HOLD(t)."),
    "q12": ("SELECT bidder, count(*) FROM (SELECT *, proctime() AS p FROM bid) GROUP BY bidder, p",
            "Use the event time, or SLIDE(t, INTERVAL '1' HOUR) for the last hour."),
}
"""Queries as the benchmark writes them, and what the hint says."""


@pytest.mark.parametrize(("text", "hint"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_refused_says_how_to_write_it(text: str, hint: str) -> None:
    with pytest.raises(wb.SqlError) as refused:
        wb.sql(text, **STREAMS)
    assert refused.value.hint.endswith(hint)


def test_the_wall_clock_is_refused() -> None:
    with pytest.raises(wb.SqlError, match="A window needs the event time"):
        wb.sql("SELECT bidder, count(*) FROM TUMBLE(bid, proctime(), INTERVAL '10' SECOND) GROUP BY ALL", **STREAMS)
