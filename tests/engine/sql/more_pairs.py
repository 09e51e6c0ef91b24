"""More queries as SQL and as Python: expressions, aggregates, windows of all kinds, sets, joins and operators."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

import pyarrow as pa

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP
from whimbrel import col

Pair = tuple[str, Callable[[], wb.Stream]]

EXPRESSIONS: dict[str, Pair] = {
    "arithmetic": ("SELECT -len AS a, len - 1 - 2 AS b, (len + 1) * 2 AS c, power(len, 2) AS d FROM TCP",
                   lambda: TCP.select(a=-col.len, b=col.len - 1 - 2, c=(col.len + 1) * 2, d=col.len**2)),
    "division of fractions": ("SELECT price / 2 AS half, price % 2 AS rest FROM bids",
                              lambda: BIDS.select(half=col.price / 2, rest=col.price % 2)),
    "an epoch of a row": ("SELECT time/60 AS minute FROM TCP", lambda: TCP.select(minute=col.time // 60)),
    "comparisons": ("SELECT len <> 10 AS a, len >= 10 AS b, srcIP < destIP AS c FROM TCP",
                    lambda: TCP.select(a=col.len != 10, b=col.len >= 10, c=col.srcIP < col.destIP)),
    "three-valued logic": ("SELECT NOT fin AS a, fin AND len > 1 OR fin IS NULL AS b FROM TCP",
                           lambda: TCP.select(a=~col.fin, b=col.fin & (col.len > 1) | col.fin.is_null())),
    "not in": ("SELECT * FROM TCP WHERE srcIP NOT IN ('a', 'b')", lambda: TCP.where(~col.srcIP.is_in(["a", "b"]))),
    "not between": ("SELECT * FROM TCP WHERE len NOT BETWEEN 10 AND 20", lambda: TCP.where(~col.len.between(10, 20))),
    "texts": ("SELECT lower(srcIP) AS a, length(srcIP) AS b, contains(srcIP, 'x') AS c FROM TCP",
              lambda: TCP.select(a=col.srcIP.str.lower(), b=col.srcIP.str.length(), c=col.srcIP.str.contains("x"))),
    "regular expressions": ("SELECT * FROM TCP WHERE regexp_matches(srcIP, '^a+$')",
                            lambda: TCP.where(col.srcIP.str.contains("^a+$", regex=True))),
    "trimmed texts": ("SELECT trim(srcIP) AS a, ltrim(srcIP, '0') AS b FROM TCP WHERE rtrim(srcIP) <> ''",
                      lambda: TCP.where(col.srcIP.str.rstrip(" ") != "").select(a=col.srcIP.str.strip(" "),
                                                                                b=col.srcIP.str.lstrip("0"))),
    "joined texts": ("SELECT srcIP || '-' || destIP AS pair FROM TCP",
                     lambda: TCP.select(pair=col.srcIP + "-" + col.destIP)),
    "rounding": ("SELECT round(price, 1) AS a, floor(price) AS b, ceil(price) AS c, sign(price) AS d FROM bids",
                 lambda: BIDS.select(a=col.price.round(1), b=col.price.floor(), c=col.price.ceil(),
                                     d=col.price.sign())),
    "largest of columns": ("SELECT greatest(len, protocol, 5) AS a, least(len, 5) AS b FROM TCP",
                           lambda: TCP.select(a=wb.greatest(col.len, col.protocol, 5), b=wb.least(col.len, 5))),
    "null of a value": ("SELECT nullif(len, 10) AS a FROM TCP",
                        lambda: TCP.select(a=wb.when(col.len == 10).then(None).otherwise(col.len))),
    "several defaults": ("SELECT coalesce(len, protocol, 0) AS a FROM TCP",
                         lambda: TCP.select(a=col.len.fill_null(col.protocol).fill_null(0))),
    "literal times": ("SELECT * FROM bids WHERE ts >= TIMESTAMP '1970-01-01 00:00:05'",
                      lambda: BIDS.where(col.ts >= datetime(1970, 1, 1, 0, 0, 5))),
    "a time and an interval": ("SELECT ts + INTERVAL '5' MINUTE AS later FROM bids",
                               lambda: BIDS.select(later=col.ts + timedelta(minutes=5))),
    "dates": (("SELECT CAST(ts AS DATE) = DATE '1970-01-01' AS first, year(ts) AS y, month(ts) AS m, day(ts) AS d "
               "FROM bids"),
              lambda: BIDS.select(first=col.ts.cast("date32") == date(1970, 1, 1), y=col.ts.dt.year, m=col.ts.dt.month,
                                  d=col.ts.dt.day)),
    "casts that may fail": ("SELECT TRY_CAST(srcIP AS BIGINT) AS n, TRY_CAST(len AS DECIMAL(10, 2)) AS d FROM TCP",
                            lambda: TCP.select(n=col.srcIP.try_cast("int64"), d=col.len.try_cast("decimal(10, 2)"))),
    "clocks of time zones": (
        ("SELECT ts AT TIME ZONE 'UTC' AS u, hour(ts AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo') + 1 AS h FROM bids"),
        lambda: BIDS.select(u=col.ts.dt.at_time_zone("UTC"),
                            h=col.ts.dt.at_time_zone("UTC").dt.at_time_zone("Asia/Tokyo").dt.hour + 1)),
    "decimals": ("SELECT CAST(len AS DECIMAL(10, 2)) AS x FROM TCP",
                 lambda: TCP.select(x=col.len.cast("decimal(10, 2)"))),
    "lifetimes as columns": ("SELECT start_time() AS since, end_time() AS until FROM SLIDE(TCP, 60)",
                             lambda: TCP.sliding_window(60).select(since=wb.start_time(), until=wb.end_time())),
    "two filters": ("SELECT * FROM (SELECT * FROM TCP WHERE len > 1) WHERE protocol = 6",
                    lambda: TCP.where(col.len > 1).where(col.protocol == 6)),
}

GROUPS: dict[str, Pair] = {
    "first and last": ("SELECT tb, first(srcIP) AS a, last(srcIP) AS b FROM TCP GROUP BY time/60 AS tb",
                       lambda: TCP.tumbling_window(60).aggregate(
                           tb=wb.window_start() // 60, a=wb.first(col.srcIP), b=wb.last(col.srcIP))),
    "spread": (("SELECT tb, stddev(len) AS a, stddev_pop(len) AS b, variance(len) AS c, var_pop(len) AS d FROM TCP "
                "GROUP BY time/60 AS tb"),
               lambda: TCP.tumbling_window(60).aggregate(
                   tb=wb.window_start() // 60, a=wb.std(col.len), b=wb.std(col.len, sample=False), c=wb.var(col.len),
                   d=wb.var(col.len, sample=False))),
    "values by another one": (
        ("SELECT tb, max_by(srcIP, len) AS a, arg_min(len, srcIP) AS b, last(srcIP ORDER BY len) AS c, "
         "first(len ORDER BY srcIP DESC) AS d, any_value(fin) AS e FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, a=wb.arg_max(col.srcIP, col.len), b=wb.arg_min(col.len, col.srcIP),
            c=wb.last(col.srcIP, by=col.len), d=wb.arg_max(col.len, col.srcIP), e=wb.any_value(col.fin))),
    "bits": ("SELECT tb, bit_and(len) AS a, bit_or(len) AS b, bit_xor(protocol) AS c FROM TCP GROUP BY time/60 AS tb",
             lambda: TCP.tumbling_window(60).aggregate(
                 tb=wb.window_start() // 60, a=wb.bit_and(col.len), b=wb.bit_or(col.len), c=wb.bit_xor(col.protocol))),
    "all values in order": (
        ("SELECT tb, mode(len) AS a, sum(DISTINCT len) AS b, quantile_cont(len, [0.5, 0.9]) AS c, mad(len) AS d, "
         "entropy(srcIP) AS e, string_agg(srcIP, '; ') AS f, listagg(srcIP) WITHIN GROUP (ORDER BY srcIP DESC) AS g, "
         "increase(len) AS h, mode() WITHIN GROUP (ORDER BY srcIP) AS i FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, a=wb.mode(col.len),
            b=wb.when(wb.count(col.len) > 0).then(wb.sum_distinct(col.len)).otherwise(None),
            c=wb.quantiles(col.len, [0.5, 0.9]), d=wb.mad(col.len), e=wb.entropy(col.srcIP),
            f=wb.string_agg(col.srcIP, "; "), g=wb.string_agg(col.srcIP, order="value", descending=True),
            h=wb.increase(col.len), i=wb.mode(col.srcIP))),
    "approximate": (
        ("SELECT tb, approx_count_distinct(srcIP) AS a, approx_quantile(len, 0.5) AS b, approx_top_k(srcIP, 2) AS c, "
         "approx_top_k(len, 1, 500) AS d FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, a=wb.approx_count_distinct(col.srcIP), b=wb.approx_quantile(col.len, 0.5),
            c=wb.approx_top_k(col.srcIP, 2), d=wb.approx_top_k(col.len, 1, counters=500))),
    "correlations": (
        ("SELECT tb, covar_samp(len, protocol) AS a, regr_slope(len, protocol) AS b, corr(len, protocol) AS c "
         "FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, a=wb.cov(col.len, col.protocol), b=wb.slope(col.len, col.protocol),
            c=wb.corr(col.len, col.protocol))),
    "a list of values": ("SELECT tb, array_agg(len) AS lens FROM TCP GROUP BY time/60 AS tb",
                         lambda: TCP.tumbling_window(60).aggregate(
                             tb=wb.window_start() // 60, lens=wb.collect(col.len))),
    "a sum that is never null": ("SELECT tb, total(len) AS n FROM TCP GROUP BY time/60 AS tb",
                                 lambda: TCP.tumbling_window(60).aggregate(
                                     tb=wb.window_start() // 60, n=wb.sum(col.len))),
    "a quantile from above": (
        ("SELECT tb, percentile_cont(0.9) WITHIN GROUP (ORDER BY len DESC) AS q FROM TCP GROUP BY time/60 AS tb"),
        lambda: TCP.tumbling_window(60).aggregate(
            tb=wb.window_start() // 60, q=wb.quantile(col.len, 0.9, descending=True))),
    "a ratio of aggregates": (
        "SELECT tb, max(price) / min(price) AS r FROM TUMBLE(bids, INTERVAL '1' MINUTE) GROUP BY window_start AS tb",
        lambda: BIDS.tumbling_window("1m").aggregate(tb=wb.window_start(), r=wb.max(col.price) / wb.min(col.price))),
    "an aggregate of an expression": ("SELECT tb, max(len * 2 + 1) AS m FROM TCP GROUP BY time/60 AS tb",
                                      lambda: TCP.tumbling_window(60).aggregate(
                                          tb=wb.window_start() // 60, m=wb.max(col.len * 2 + 1))),
    "two keys": ("SELECT srcIP, destIP, tb, count(*) AS n FROM TCP GROUP BY srcIP, destIP, time/10 AS tb",
                 lambda: TCP.tumbling_window(10).group_by("srcIP", "destIP").aggregate(
                     tb=wb.window_start() // 10, n=wb.count())),
    "where, groups, having and columns": (
        ("SELECT srcIP, m + 1 AS more FROM (SELECT srcIP, tb, max(len) AS m FROM TCP WHERE fin IS NOT NULL "
         "GROUP BY srcIP, time/60 AS tb HAVING max(len) > 1)"),
        lambda: TCP.where(col.fin.is_not_null()).tumbling_window(60).group_by("srcIP").aggregate(
            tb=wb.window_start() // 60, m=wb.max(col.len)).where(col.m > 1).select("srcIP", more=col.m + 1)),
    "groups without aggregates": ("SELECT srcIP, destIP FROM SLIDE(TCP, 60) GROUP BY srcIP, destIP",
                                  lambda: TCP.sliding_window(60).distinct("srcIP", "destIP")),
    "distinct rows": ("SELECT DISTINCT srcIP FROM SLIDE(TCP, 60)",
                      lambda: TCP.sliding_window(60).select("srcIP").distinct()),
    "totals so far": ("SELECT srcIP, count(*) AS n, max(len) AS m FROM HOLD(TCP) GROUP BY srcIP",
                      lambda: TCP.set_duration(None).group_by("srcIP").aggregate(n=wb.count(), m=wb.max(col.len))),
    "all rows together": ("SELECT count(*) AS n FROM SLIDE(TCP, 60)",
                          lambda: TCP.sliding_window(60).aggregate(n=wb.count())),
    "hopping windows of ticks": (
        "SELECT srcIP, window_start, count(*) AS n FROM HOP(TCP, time, 30, 60) GROUP BY srcIP, window_start",
        lambda: TCP.hopping_window(60, 30).group_by("srcIP").aggregate(
            emit="close", window_start=wb.window_start(), n=wb.count())),
    "windows with an offset": (
        "SELECT window_start, count(*) AS n FROM TUMBLE(TCP, time, 60, 7) GROUP BY window_start",
        lambda: TCP.tumbling_window(60, offset=7).aggregate(window_start=wb.window_start(), n=wb.count())),
    "sessions of all rows": (
        "SELECT count(*) AS n FROM SESSION(bids, ts, INTERVAL '30' SECOND) GROUP BY window_start",
        lambda: BIDS.session_window("30s", emit="close").aggregate(n=wb.count())),
    "days": ("SELECT date_trunc('day', ts) AS d, max(price) AS m FROM bids GROUP BY date_trunc('day', ts)",
             lambda: BIDS.tumbling_window("1d").aggregate(d=wb.window_start(), m=wb.max(col.price))),
    "months": ("SELECT date_trunc('month', ts) AS d, max(price) AS m FROM bids GROUP BY date_trunc('month', ts)",
               lambda: BIDS.tumbling_window("1mo").aggregate(d=wb.window_start(), m=wb.max(col.price))),
    "days and years": (
        "SELECT date_trunc('day', ts) AS d, date_trunc('year', ts) AS y, max(price) AS m FROM bids GROUP BY 1, 2",
        lambda: BIDS.tumbling_window("1d").aggregate(d=wb.window_start(), y=wb.window_start().dt.floor("1y"),
                                                     m=wb.max(col.price))),
}

def _copies(stream: wb.Stream) -> wb.Stream:
    return stream.group_by("srcIP").top_k(2**63 - 1, wb.lit(1), ties=False, rank="_copy").ungroup()


JOINS: dict[str, Pair] = {
    "using": ("SELECT * FROM TCP a JOIN TCP b USING (srcIP, time)",
              lambda: TCP.join(TCP, ["srcIP", "time"])),
    "another condition": ("SELECT * FROM TCP a JOIN TCP b ON a.srcIP = b.srcIP AND a.time = b.time AND a.len < b.len",
                          lambda: TCP.join(TCP, "srcIP", where=col.len < col.len_right)),
    "a left join by using": ("SELECT * FROM SLIDE(TCP, 60) a LEFT JOIN SLIDE(TCP, 9) b USING (srcIP)",
                             lambda: TCP.sliding_window(60).join(TCP.sliding_window(9), "srcIP", how="left")),
    "a full join by using": ("SELECT * FROM SLIDE(TCP, 60) a FULL JOIN SLIDE(TCP, 9) b USING (srcIP)",
                             lambda: TCP.sliding_window(60).join(TCP.sliding_window(9), "srcIP", how="full")),
    "keys where null equals null": (
        "SELECT * FROM TCP a JOIN TCP b ON a.srcIP IS NOT DISTINCT FROM b.srcIP AND a.time = b.time",
        lambda: TCP.join(TCP, "srcIP", nulls_equal=True)),
    "rows without a partner": ("SELECT * FROM TCP a ANTI JOIN TCP b ON a.srcIP = b.destIP AND a.time = b.time",
                               lambda: TCP.anti_join(TCP, {"srcIP": "destIP"})),
    "a cross join": ("SELECT * FROM SLIDE(TCP, 5) a CROSS JOIN SLIDE(TCP, 9) b",
                     lambda: TCP.sliding_window(5).cross_join(TCP.sliding_window(9))),
    "a join of two epochs": (
        ("SELECT * FROM (SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY srcIP, time/60 AS tb) a "
         "JOIN (SELECT srcIP, tb, max(len) AS m FROM TCP GROUP BY srcIP, time/60 AS tb) b "
         "ON a.srcIP = b.srcIP AND a.tb = b.tb"),
        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(tb=wb.window_start() // 60, n=wb.count()).join(
            TCP.tumbling_window(60).group_by("srcIP").aggregate(tb=wb.window_start() // 60, m=wb.max(col.len)),
            "srcIP")),
    "a condition of the joined row": (
        "SELECT a.srcIP, b.len AS other FROM TCP a JOIN TCP b ON a.srcIP = b.srcIP AND a.time = b.time WHERE a.fin",
        lambda: TCP.join(TCP, "srcIP").where(col.fin).select("srcIP", other=col.len_right)),
    "an as-of join with a tolerance": (
        "SELECT * FROM ASOF_JOIN(bids, bids, on => 'k', tolerance => INTERVAL '1' MINUTE, strict => TRUE)",
        lambda: BIDS.asof_join(BIDS, on="k", tolerance="1m", strict=True)),
    "what two sets have in common": ("SELECT srcIP FROM SLIDE(TCP, 60) INTERSECT SELECT destIP FROM SLIDE(TCP, 60)",
                                     lambda: TCP.sliding_window(60).select("srcIP").distinct().semi_join(
                                         TCP.sliding_window(60).select("destIP").select(srcIP=col.destIP), ["srcIP"],
                                         nulls_equal=True)),
    "copies of one set without another": (
        "SELECT srcIP FROM SLIDE(TCP, 60) EXCEPT ALL SELECT destIP FROM SLIDE(TCP, 60)",
        lambda: _copies(TCP.sliding_window(60).select("srcIP")).anti_join(
            _copies(TCP.sliding_window(60).select("destIP").select(srcIP=col.destIP)), ["srcIP", "_copy"],
            nulls_equal=True).select("srcIP")),
    "windows of months": (
        ("SELECT window_start, window_end, k, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL '3' MONTH) "
         "GROUP BY window_start, window_end, k"),
        lambda: BIDS.tumbling_window("3mo").group_by("k").aggregate(
            window_start=wb.window_start(), window_end=wb.window_end(), n=wb.count()).select(
                "window_start", "window_end", "k", "n")),
    "merge after with": (
        ("WITH long AS (SELECT time, len FROM TCP WHERE len > 10), all_ AS (SELECT time, protocol FROM TCP) "
         "MERGE long.time : all_.time FROM long, all_"),
        lambda: TCP.where(col.len > 10).select("time", "len").union(
            TCP.select("time", "protocol").select(time=col.time, len=col.protocol))),
    "one set without another": ("SELECT srcIP FROM SLIDE(TCP, 60) EXCEPT SELECT destIP FROM SLIDE(TCP, 60)",
                                lambda: TCP.sliding_window(60).select("srcIP").distinct().anti_join(
                                    TCP.sliding_window(60).select("destIP").select(srcIP=col.destIP), ["srcIP"],
                                    nulls_equal=True)),
    "a union of columns": ("SELECT srcIP AS ip FROM TCP UNION ALL SELECT destIP FROM TCP",
                           lambda: TCP.select(ip=col.srcIP).union(TCP.select("destIP").select(ip=col.destIP))),
    "items of a list": ("SELECT time, tag FROM TCP CROSS JOIN UNNEST([srcIP, destIP]) AS u(tag)",
                        lambda: TCP.explode("tag", [col.srcIP, col.destIP]).select("time", "tag")),
}

OPERATORS: dict[str, Pair] = {
    "lifetimes": ("SELECT * FROM CHOP(EXTEND(SHIFT(TCP, 5), 30), 10)", lambda: TCP.shift(5).extend(30).chop(10)),
    "a table of keys": ("SELECT * FROM TOP_K(TABLE TUMBLING_WINDOW(TCP, 60) PARTITION BY srcIP, 2, len)",
                        lambda: TCP.tumbling_window(60).group_by("srcIP").top_k(2, col.len)),
    "fused rows": ("SELECT * FROM STITCH((SELECT srcIP FROM TUMBLING_WINDOW(TCP, 60)))",
                   lambda: TCP.tumbling_window(60).select("srcIP").stitch()),
    "ends as points": ("SELECT * FROM POINT_AT_END(SLIDE(bids, INTERVAL '1' HOUR))",
                       lambda: BIDS.sliding_window("1h").point_at_end()),
    "clipped rows": ("SELECT * FROM CLIP_AT(SLIDE(TCP, 60), TCP, 'srcIP')",
                     lambda: TCP.sliding_window(60).clip_at(TCP, "srcIP")),
}

EPOCHS_OF_IPS = "SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP"


_NUMBERS = ("WITH N AS (SELECT * FROM ASSUME((SELECT *, start_time() * 2 AS seq, 7 - start_time() AS rest FROM TCP), "
            "increasing => 'seq', decreasing => 'rest', band => 3)) ")


def _numbers() -> wb.Stream:
    return TCP.with_columns(seq=wb.start_time() * 2, rest=7 - wb.start_time()).assume(
        increasing="seq", decreasing="rest", band=3)


def _halves(value: wb.Expr) -> wb.Expr:
    return value // 2 + wb.when((value < 0) & (value % 2 != 0)).then(1).otherwise(0)


def _numbers_of_two(join: Callable[[wb.Stream, wb.Stream], wb.Stream]) -> wb.Stream:
    numbers = _numbers()
    return join(numbers.retime(_halves(col.seq)), numbers.retime(col.seq + 1))


def _merged() -> wb.Stream:
    numbers = _numbers()
    return numbers.retime(-col.rest).union(numbers.retime(-col.rest))


ORDERED: dict[str, Pair] = {
    "a group of an ordered column": (
        _NUMBERS + "SELECT srcIP, s, count(*) AS n FROM N GROUP BY seq + 1 AS s, srcIP",
        lambda: _numbers().retime(col.seq + 1).group_by(s=col.seq + 1, srcIP=col.srcIP).aggregate(n=wb.count()).select(
            "srcIP", "s", "n")),
    "a group of a falling column": (
        _NUMBERS + "SELECT s, max(len) AS m FROM N GROUP BY rest/2 AS s",
        lambda: _numbers().retime(-_halves(col.rest)).group_by(s=_halves(col.rest)).aggregate(m=wb.max(col.len))),
    "epochs of an ordered column": (
        _NUMBERS + "SELECT e, sum(n) AS n FROM (SELECT s, count(*) AS n FROM N GROUP BY seq - 1 AS s) "
        "GROUP BY s/9 AS e",
        lambda: _numbers().retime(col.seq - 1).group_by(s=col.seq - 1).aggregate(n=wb.count()).tumbling_window(
            9).aggregate(e=wb.window_start() // 9, n=wb.sum(col.n, empty=None))),
    "merge of falling columns": (
        "CREATE VIEW V AS " + _NUMBERS + "SELECT * FROM N; MERGE a.rest : b.rest FROM V a, V b", _merged),
    "a join of ordered columns": (
        _NUMBERS + "SELECT * FROM N a JOIN N b ON a.seq/2 = b.seq + 1 AND a.srcIP = b.srcIP",
        lambda: _numbers_of_two(lambda a, b: a.join(b, "srcIP"))),
    "rows with a partner by number": (
        _NUMBERS + "SELECT a.srcIP, a.seq FROM N a SEMI JOIN N b ON a.seq/2 = b.seq + 1 AND a.srcIP = b.destIP",
        lambda: _numbers_of_two(lambda a, b: a.semi_join(b, {"srcIP": "destIP"}).select("srcIP", "seq"))),
}


def _rows_of_epochs() -> wb.Stream:
    epochs = TCP.tumbling_window(60).group_by("srcIP").aggregate(tb=wb.window_start() // 60, n=wb.count())
    last = epochs.group_by("srcIP").last_rows(2).aggregate(_over1=wb.sum(col.n, empty=None))
    return epochs.join(last, "srcIP", nulls_equal=True).select("srcIP", "tb", "n", both=col._over1)


def _falls() -> wb.Stream:
    seen = {"_previous_len": col.len}
    pattern = wb.sequence(A=wb.event(True, **seen)).then((
        wb.sequence(B=wb.event(col.len < wb.register._previous_len, **seen))
        | wb.sequence(C=wb.event(col.fin, **seen))).repeat(reluctant=True)).then(
            wb.sequence(D=wb.event(col.len > 10, **seen)))
    return TCP.group_by("srcIP").detect(
        pattern, within=60, greedy=True, overlapping=False, register={"_previous_len": pa.int64()},
        output={"began": wb.first_of("A").time, "low": wb.last_of("B").len}).set_duration(1).select(
            "srcIP", "began", "low")


PATTERNS: dict[str, Pair] = {
    "rows after each other": (
        ("SELECT * FROM TCP MATCH_RECOGNIZE (ORDER BY time MEASURES A.srcIP AS one, B.srcIP AS other "
         "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN 60 DEFINE B AS len > A.len)"),
        lambda: TCP.detect(wb.sequence(A=wb.event(True)).then(wb.sequence(B=col.len > wb.last_of("A").len)), within=60,
                           output={"one": wb.last_of("A").srcIP, "other": wb.last_of("B").srcIP})
        .set_duration(1).select("one", "other")),
    "alternatives of a pattern": (
        ("SELECT * FROM TCP MATCH_RECOGNIZE (PARTITION BY srcIP ORDER BY time MEASURES FIRST(A.time) AS began, "
         "B.len AS low PATTERN (A (B | C)+? D) WITHIN 60 DEFINE B AS len < PREV(len), C AS fin, D AS len > 10)"),
        _falls),
}

TABLES: dict[str, Pair] = {
    "a pivot": (
        ("SELECT * FROM (SELECT srcIP, protocol, len FROM SLIDE(TCP, 60)) "
         "PIVOT (sum(len) FOR protocol IN (6 AS tcp, 17 AS udp))"),
        lambda: TCP.sliding_window(60).select("srcIP", "protocol", "len").group_by("srcIP").aggregate(
            tcp=wb.when(wb.count(col.len).where(col.protocol == 6) > 0).then(
                wb.sum(col.len).where(col.protocol == 6)).otherwise(None),
            udp=wb.when(wb.count(col.len).where(col.protocol == 17) > 0).then(
                wb.sum(col.len).where(col.protocol == 17)).otherwise(None))),
    "a row for each column": (
        "SELECT * FROM (SELECT srcIP, protocol, len FROM TCP) UNPIVOT (v FOR n IN (protocol, len))",
        lambda: TCP.select("srcIP", "protocol", "len").select("srcIP", "protocol", "len").unpivot(
            "srcIP", attribute="n", value="v")),
    "rows of epochs": (
        f"SELECT *, sum(n) OVER (PARTITION BY srcIP ORDER BY tb ROWS 1 PRECEDING) AS both FROM ({EPOCHS_OF_IPS})",
        _rows_of_epochs),
    "groups that close early": (
        ("SELECT tb, sum(len) AS s, running(count(DISTINCT srcIP)) AS ips FROM TCP GROUP BY time/60 AS tb "
         "CLOSING_WHEN count(*) = 0 OR running(count(*)) > 3"),
        lambda: TCP.epoch_aggregate(
            60, (wb.count() == 0) | (wb.running(wb.count()) > 3), tb=wb.window_start() // 60,
            s=wb.sum(col.len, empty=None), ips=wb.running(wb.count_distinct(col.srcIP)))),
}

def _numbered_by_time() -> wb.Stream:
    before = TCP.set_duration(None).group_by("srcIP").aggregate(_before=wb.count())
    at_once = TCP.group_by("srcIP").top_k(1, col.time, descending=False, ties=False, rank="_rank")
    numbers = at_once.ungroup().asof_join(before, on="srcIP", strict=True, nulls_equal=True)
    return numbers.select(*TCP.schema.names, _rank=col._rank + col._before.fill_null(0)).where(col._rank <= 1).select(
        *TCP.schema.names, n=col._rank)


def _counts_of_two() -> wb.Stream:
    counts = TCP.tumbling_window(60).group_by("srcIP").aggregate(
        window_start=wb.window_start(), window_end=wb.window_end(), n=wb.count()).select(
            "window_start", "window_end", "srcIP", "n")
    bytes_ = TCP.tumbling_window(60).group_by("destIP").aggregate(
        window_start=wb.window_start(), window_end=wb.window_end(), s=wb.max(col.len)).select(
            "window_start", "window_end", "destIP", "s")
    return counts.join(bytes_, {"srcIP": "destIP", "window_end": "window_end"}).select("srcIP", "n", "s")


NUMBERS: dict[str, Pair] = {
    "windows that meet": (
        ("SELECT a.srcIP, a.n, b.s FROM (SELECT window_start, window_end, srcIP, count(*) AS n "
         "FROM TUMBLE(TCP, time, 60) GROUP BY window_start, window_end, srcIP) a "
         "JOIN (SELECT window_start, window_end, destIP, max(len) AS s FROM "
         "TUMBLE(TCP, time, 60) GROUP BY window_start, window_end, destIP) b ON a.srcIP = b.destIP AND "
         "a.window_start = b.window_start AND a.window_end = b.window_end"),
        _counts_of_two),
    "the largest rows of each window": (
        ("SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY len DESC) AS rn "
         "FROM TABLE(TUMBLE(TABLE TCP, DESCRIPTOR(time), 60))) WHERE rn <= 3"),
        lambda: TCP.tumbling_window(60).with_columns(
            window_start=wb.start_time(), window_end=wb.end_time()).group_by("window_start", "window_end").top_k(
                3, [col.len.is_null(), col.len.fill_null(0)],
                descending=[False, True], ties=False, rank="_rank").ungroup().select(
                    *TCP.schema.names, "window_start", "window_end", rn=col._rank)),
    "rows of windows that overlap": (
        "SELECT * FROM HOP(TCP, 20, 60)",
        lambda: TCP.hopping_window(60, 20).chop(20).with_columns(
            window_start=wb.end_time() - 60, window_end=wb.end_time())),
    "rows of partial windows": (
        "SELECT srcIP, window_start, window_end FROM CUMULATE(TCP, 20, 60)",
        lambda: TCP.progressive_window(60, 60, 20).chop(20).with_columns(
            window_start=wb.start_time() // 60 * 60, window_end=wb.end_time()).select(
                "srcIP", "window_start", "window_end")),
    "rows of sessions": (
        "SELECT * FROM SESSION(TABLE TCP PARTITION BY srcIP, DESCRIPTOR(time), 60) WHERE len > 1",
        lambda: TCP.group_by("srcIP").session_window(60, emit="close").ungroup().with_columns(
            window_start=wb.start_time(), window_end=wb.end_time()).where(col.len > 1)),
    "the largest row of each key": (
        ("SELECT srcIP, len FROM (SELECT *, row_number() OVER (PARTITION BY srcIP ORDER BY len DESC) AS n FROM TCP) "
         "WHERE n = 1"),
        lambda: TCP.set_duration(None).group_by("srcIP").top_k(
            1, [col.len.is_null(), col.len.fill_null(0)],
            descending=[False, True], ties=False, rank="_rank").ungroup().select(
                *TCP.schema.names).select("srcIP", "len")),
    "the first row of each key": (
        ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY srcIP ORDER BY time) AS n FROM TCP) WHERE n = 1"),
        _numbered_by_time),
    "ranks within an epoch": (
        "SELECT tb, len, rank() OVER (PARTITION BY tb ORDER BY len) AS r FROM (SELECT time/60 AS tb, len FROM TCP)",
        lambda: TCP.select(tb=col.time // 60, len=col.len).tumbling_window(60).group_by("tb").top_k(
            2**63 - 1, [col.len.is_null(), col.len.fill_null(0)],
            descending=[False, False], rank="_rank").ungroup().select(
                "tb", "len", r=col._rank)),
}

MORE_PAIRS = {**EXPRESSIONS, **GROUPS, **JOINS, **OPERATORS, **ORDERED, **PATTERNS, **TABLES, **NUMBERS}
