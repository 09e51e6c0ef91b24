"""SQL and Python print the same plan, as written and optimized."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP, sql
from tests.engine.sql.more_pairs import MORE_PAIRS
from tests.engine.stream.printed import built_again
from whimbrel import col
from whimbrel.plan import explain

PAIRS: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "all rows": ("SELECT * FROM TCP", lambda: TCP),
    "a filter": ("SELECT * FROM TCP WHERE protocol = 6", lambda: TCP.where(col.protocol == 6)),
    "two conditions": ("SELECT * FROM TCP WHERE protocol = 6 AND len > 10",
                       lambda: TCP.where((col.protocol == 6) & (col.len > 10))),
    "or and not": ("SELECT * FROM TCP WHERE NOT (protocol = 6 OR fin)",
                   lambda: TCP.where(~((col.protocol == 6) | col.fin))),
    "columns": ("SELECT srcIP, len*2 AS double FROM TCP", lambda: TCP.select("srcIP", double=col.len * 2)),
    "one more column": ("SELECT *, len+1 AS more FROM TCP", lambda: TCP.with_columns(more=col.len + 1)),
    "a star without a column": ("SELECT * EXCEPT (len, fin) FROM TCP",
                                lambda: TCP.select("time", "srcIP", "destIP", "protocol")),
    "case": ("SELECT CASE WHEN len > 15 THEN 'long' ELSE 'short' END AS size FROM TCP",
             lambda: TCP.select(size=wb.when(col.len > 15).then("long").otherwise("short"))),
    "simple case": ("SELECT CASE protocol WHEN 6 THEN 'tcp' WHEN 17 THEN 'udp' END AS name FROM TCP",
                    lambda: TCP.select(name=wb.when(col.protocol == 6).then("tcp").otherwise(
                        wb.when(col.protocol == 17).then("udp").otherwise(None)))),
    "cast": ("SELECT CAST(len AS DOUBLE) AS x, len::VARCHAR AS s FROM TCP",
             lambda: TCP.select(x=col.len.cast("double"), s=col.len.cast("string"))),
    "nulls": ("SELECT coalesce(len, 0) AS n FROM TCP WHERE fin IS NOT NULL",
              lambda: TCP.where(col.fin.is_not_null()).select(n=col.len.fill_null(0))),
    "between and in": ("SELECT time FROM TCP WHERE len BETWEEN 10 AND 30 AND srcIP IN ('a', 'c')",
                       lambda: TCP.where(col.len.between(10, 30) & col.srcIP.is_in(["a", "c"])).select("time")),
    "like": ("SELECT time FROM TCP WHERE srcIP LIKE 'a%'",
             lambda: TCP.where(col.srcIP.str.starts_with("a")).select("time")),
    "functions": ("SELECT abs(len) AS a, sqrt(len) AS b, upper(srcIP) AS c FROM TCP",
                  lambda: TCP.select(a=col.len.abs(), b=col.len.sqrt(), c=col.srcIP.str.upper())),
    "parts of times": ("SELECT extract(hour FROM ts) AS h, date_trunc('minute', ts) AS m FROM bids",
                       lambda: BIDS.select(h=col.ts.dt.hour, m=col.ts.dt.floor("1m"))),
    "an epoch": ("SELECT srcIP, time/60 AS tb, count(*) AS n FROM TCP GROUP BY time/60, srcIP",
                 lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(tb=wb.window_start() // 60, n=wb.count())),
    "an epoch with a name": (
        "SELECT srcIP, tb, sum(len) AS total FROM TCP GROUP BY time/60 AS tb, srcIP",
        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
            tb=wb.window_start() // 60, total=wb.sum(col.len, empty=None))),
    "having": ("SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP HAVING count(*) > 1",
               lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
                   tb=wb.window_start() // 60, n=wb.count()).where(col.n > 1)),
    "having an alias": ("SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP HAVING n > 1",
                        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
                            tb=wb.window_start() // 60, n=wb.count()).where(col.n > 1)),
    "having another aggregate": (
        "SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP HAVING max(len) > 10",
        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
            tb=wb.window_start() // 60, n=wb.count(), _3=wb.max(col.len)).where(col._3 > 10).select(
                "srcIP", "tb", "n")),
    "group by all": ("SELECT srcIP, time/60 AS tb, max(len) AS m FROM TCP GROUP BY ALL",
                     lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
                         tb=wb.window_start() // 60, m=wb.max(col.len))),
    "ordinals": ("SELECT srcIP, time/60 AS tb, min(len) AS m FROM TCP GROUP BY 1, 2",
                 lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
                     tb=wb.window_start() // 60, m=wb.min(col.len))),
    "an alias": ("SELECT srcIP, time/60 AS tb, avg(len) AS m FROM TCP GROUP BY tb, srcIP",
                 lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
                     tb=wb.window_start() // 60, m=wb.mean(col.len))),
    "an epoch of timestamps": (
        "SELECT k, date_trunc('minute', ts) AS m, avg(price) AS p FROM bids GROUP BY k, date_trunc('minute', ts)",
        lambda: BIDS.tumbling_window("1m").group_by("k").aggregate(m=wb.window_start(), p=wb.mean(col.price))),
    "a time bucket": (
        "SELECT time_bucket(INTERVAL '5' MINUTE, ts) AS m, count(*) AS n FROM bids GROUP BY m",
        lambda: BIDS.tumbling_window("5m").aggregate(m=wb.window_start(), n=wb.count())),
    "a computed key": (
        "SELECT short, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, len < 15 AS short",
        lambda: TCP.tumbling_window(60).group_by(short=col.len < 15).aggregate(
            tb=wb.window_start() // 60, n=wb.count())),
    "filter": (
        ("SELECT tb, count(*) FILTER (WHERE fin) AS ended, avg(len) FILTER (WHERE len > 10) AS m "
         "FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, ended=wb.count().where(col.fin), m=wb.mean(col.len).where(col.len > 10))),
    "distinct aggregates and quantiles": (
        ("SELECT tb, count(DISTINCT srcIP) AS ips, median(len) AS m, "
         "percentile_disc(0.9) WITHIN GROUP (ORDER BY len) AS q FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, ips=wb.count_distinct(col.srcIP), m=wb.median(col.len),
            q=wb.quantile(col.len, 0.9, interpolation="discrete"))),
    "tumble": (
        ("SELECT k, window_start, window_end, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL '1' MINUTE) "
         "GROUP BY k, window_start, window_end"),
        lambda: BIDS.tumbling_window("1m").group_by("k").aggregate(
            window_start=wb.window_start(), window_end=wb.window_end(), n=wb.count())),
    "hop": (
        ("SELECT k, window_start, max(price) AS p FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' SECOND, "
         "INTERVAL '1' MINUTE)) GROUP BY k, window_start"),
        lambda: BIDS.hopping_window("1m", "30s").group_by("k").aggregate(
            emit="close", window_start=wb.window_start(), p=wb.max(col.price))),
    "session": (
        ("SELECT k, count(*) AS n FROM SESSION(TABLE bids PARTITION BY k, DESCRIPTOR(ts), INTERVAL '30' SECOND) "
         "GROUP BY k, window_start"),
        lambda: BIDS.group_by("k").session_window("30s", emit="close").aggregate(n=wb.count())),
    "slide": ("SELECT k, count(*) AS n FROM SLIDE(bids, INTERVAL '1' HOUR) GROUP BY k",
              lambda: BIDS.sliding_window("1h").group_by("k").aggregate(n=wb.count())),
    "hold": ("SELECT k, count(*) AS n FROM HOLD(bids) GROUP BY k",
             lambda: BIDS.set_duration(None).group_by("k").aggregate(n=wb.count())),
    "windows over windows": (
        ("SELECT hour, max(n) AS most FROM (SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP) "
         "GROUP BY tb/60 AS hour"),
        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(tb=wb.window_start() // 60, n=wb.count())
        .tumbling_window(3600).aggregate(hour=wb.window_start() // 3600, most=wb.max(col.n))),
    "with": ("WITH long AS (SELECT * FROM TCP WHERE len > 10) SELECT srcIP FROM long",
             lambda: TCP.where(col.len > 10).select("srcIP")),
    "merge": ("MERGE a.time : b.time FROM TCP a, TCP b", lambda: TCP.union(TCP)),
    "union all": ("SELECT * FROM TCP UNION ALL SELECT * FROM TCP", lambda: TCP.union(TCP)),
    "a join at one time": (
        "SELECT * FROM TCP a JOIN TCP b ON a.srcIP = b.destIP AND a.time = b.time",
        lambda: TCP.join(TCP, {"srcIP": "destIP"})),
    "a join in an epoch": (
        "SELECT * FROM TCP a JOIN TCP b ON a.time/60 = b.time/60 AND a.srcIP = b.srcIP",
        lambda: TCP.tumbling_window(60).join(TCP.tumbling_window(60), "srcIP")),
    "a join within a time": (
        "SELECT * FROM TCP a JOIN TCP b ON a.srcIP = b.srcIP AND b.time BETWEEN a.time AND a.time + 60",
        lambda: TCP.set_duration(61).join(TCP, "srcIP").set_duration(1)),
    "an as-of join": (
        "SELECT * FROM bids a ASOF LEFT JOIN bids b USING (k, ts)",
        lambda: BIDS.asof_join(BIDS, on="k", ties="last")),
    "a range of time": (
        ("SELECT *, avg(price) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING "
         "AND CURRENT ROW) AS m FROM bids"),
        lambda: BIDS.join(BIDS.set_duration(61).group_by("k").aggregate(_over1=wb.mean(col.price)), "k",
                          nulls_equal=True).select("ts", "k", "price", m=col._over1)),
    "the last rows": (
        "SELECT *, avg(price) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS m FROM bids",
        lambda: BIDS.join(BIDS.group_by("k").last_rows(3).aggregate(_over1=wb.mean(col.price)), "k",
                          nulls_equal=True).select("ts", "k", "price", m=col._over1)),
    "running aggregates": (
        ("SELECT tb, srcIP, sum_of_dups(len) AS dups, running(count(*)) AS n FROM TCP GROUP BY time/60 AS tb, srcIP "
         "HAVING count(*) > 0 CLOSING_WHEN max(len) > 30 OR count(*) = 0"),
        lambda: TCP.group_by("srcIP").epoch_aggregate(
            60, (wb.max(col.len) > 30) | (wb.count() == 0), tb=wb.window_start() // 60,
            dups=wb.running(wb.count(col.len)) - wb.running(wb.count_distinct(col.len)), n=wb.running(wb.count()),
            _4=wb.count()).where(col._4 > 0).select("tb", "srcIP", "dups", "n")),
    "groups that never close": (
        "SELECT tb, running(max(len)) AS m FROM TCP GROUP BY time/60 AS tb CLOSING_WHEN FALSE",
        lambda: TCP.epoch_aggregate(60, False, tb=wb.window_start() // 60, m=wb.running(wb.max(col.len)))),
    "the value before": (
        "SELECT k, ts, lag(price) OVER (PARTITION BY k ORDER BY ts) AS before FROM bids",
        lambda: BIDS.asof_join(BIDS.select("k", _over1=col.price), on="k", strict=True, ties="last",
                               nulls_equal=True).select("k", "ts", before=col._over1)),
    "the largest of a window": (
        ("SELECT k, m, count(*) AS n FROM bids GROUP BY k, date_trunc('minute', ts) AS m "
         "QUALIFY rank() OVER (PARTITION BY m ORDER BY avg(price) DESC) <= 1").replace("avg(price)", "count(*)"),
        lambda: BIDS.tumbling_window("1m").group_by("k").aggregate(m=wb.window_start(), n=wb.count())
        .group_by("m").top_k(1, [col.n.is_null(), col.n.fill_null(0)], descending=[False, True], rank="_rank").select(
            "k", "m", "n")),
    "rows with a partner": (
        "SELECT * FROM TCP WHERE EXISTS (SELECT 1 FROM TCP b WHERE b.destIP = TCP.srcIP AND b.time = TCP.time)",
        lambda: TCP.semi_join(TCP, {"srcIP": "destIP"})),
    "a comma join": (
        "SELECT a.time FROM TCP a, TCP b WHERE a.time = b.time AND a.len < b.len AND a.protocol = 6",
        lambda: TCP.cross_join(TCP, where=col.len < col.len_right).where(col.protocol == 6).select("time")),
}


ALL = {**PAIRS, **MORE_PAIRS}


@pytest.mark.parametrize("pair", ALL.values(), ids=list(ALL))
def test_the_plans_are_the_same(pair: tuple[str, Callable[[], wb.Stream]]) -> None:
    text, python = pair
    assert explain(sql(text).node) == explain(python().node)
    assert sql(text).explain() == python().explain()


@pytest.mark.parametrize("pair", ALL.values(), ids=list(ALL))
def test_both_texts_come_back(pair: tuple[str, Callable[[], wb.Stream]]) -> None:
    text, python = pair
    plan = explain(python().node)
    for stream in (sql(text), python()):
        assert explain(built_again(stream).node) == plan
        assert explain(sql(stream.sql()).node) == plan
