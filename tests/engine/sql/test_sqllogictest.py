"""Files of sqllogictest as runs over time: queries of SQLite's collection, drawn by seed."""

from __future__ import annotations

import random
import sys
import zipfile
from pathlib import Path

import pytest

from whimbrel.testing.sqllogictest import LogicReport, draw, read_records, run_records

FOLDER = Path(sys.prefix) / "sqllogictest"
QUERIES_A_FILE = 25
MOST_REFUSED = 0.05
SLOW = ("/1000/", "/10000/", "/delete/")
"""Files with hundreds of statements before a query: not for `make test`."""


def drawn(seed: int, files: int, queries: int = QUERIES_A_FILE, *, fast: bool = False) -> LogicReport:
    """Queries of some files; the chance of a file is its size."""
    report = LogicReport()
    with zipfile.ZipFile(next(FOLDER.glob("*.jar"))) as jar:
        known = [each for each in jar.infolist() if each.filename.endswith(".test")]
        if fast:
            known = [each for each in known if not any(part in each.filename for part in SLOW)]
        draws = random.Random(seed)
        for number, each in enumerate(draws.choices(known, [each.file_size for each in known], k=files)):
            records = read_records(jar.read(each).decode())
            report.add(run_records(records, each.filename, chosen=draw(records, seed + number, queries)))
    return report


def check(report: LogicReport) -> None:
    assert report.wrong == []
    assert sum(report.refusals.values()) <= MOST_REFUSED * report.checks, report.refusals.most_common(10)


@pytest.mark.share(2)
@pytest.mark.sqllogictest
@pytest.mark.parametrize("seed", range(4))
def test_queries_of_sqlites_files(seed: int) -> None:
    report = drawn(seed, 10, fast=True)
    assert report.checks >= 240
    check(report)


@pytest.mark.sqllogictest
@pytest.mark.long
def test_more_queries_of_sqlites_files() -> None:
    check(drawn(100, 60, 50))


@pytest.mark.sqllogictest
@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_fifty_thousand_queries_of_sqlites_files(seed: int) -> None:
    check(drawn(1000 + 50 * seed, 50, 100))


FILE = """
statement ok
CREATE TABLE t(k VARCHAR(10), x INTEGER)

statement ok
INSERT INTO t VALUES ('a', 1), ('b', 2), ('it''s', NULL)

query I nosort
SELECT count(*) FROM t
----
3

statement ok
CREATE VIEW large AS SELECT * FROM t WHERE x > 1

statement ok
UPDATE t SET x = x + 10 WHERE k = 'a'

query TI rowsort
SELECT k, x FROM large
----
a
11
b
2

statement ok
DELETE FROM t WHERE x = 2

query I nosort
SELECT count(*) FROM large
----
1

statement ok
DELETE FROM t

query I nosort
SELECT count(*) FROM t
----
0

statement ok
INSERT INTO t(x) SELECT 5

query TIR nosort
SELECT k, x, x / 2.0 FROM t
----
NULL  5  2.5
"""


def test_a_file_is_one_run_over_time() -> None:
    report = run_records(read_records(FILE))
    assert report.wrong == []
    assert (report.passed, report.refusals.total()) == (5, 0)


def test_a_wrong_result_and_a_refusal_are_seen() -> None:
    records = read_records("query I nosort\nSELECT 1 + 1\n----\n3\n\nquery I nosort\nSELECT random()\n----\n3\n")
    report = run_records(records, "a file")
    assert (report.passed, len(report.wrong)) == (0, 1)
    assert list(report.refusals) == ["random() gives other values in each run."]


@pytest.mark.parametrize("change", [
    "INSERT INTO t VALUES (random())", "UPDATE t SET (x) = (2)", "UPDATE t SET x", "REPLACE INTO t VALUES (2)"])
def test_after_a_change_that_is_not_known_queries_of_the_table_are_refused(change: str) -> None:
    report = run_records(read_records(
        "statement ok\nCREATE TABLE t(x INTEGER)\n\nstatement ok\nINSERT INTO t VALUES (1)\n\n"
        f"statement ok\n{change}\n\nquery I nosort\nSELECT x FROM t\n----\n2\n"))
    assert (report.passed, report.wrong) == (0, [])
    assert any(words.startswith("There is no table") for words in report.refusals)


@pytest.mark.parametrize(("expected", "passes"), [
    ("1\t2\n3\t4", True), ("1 2\n3 4", True), ("1\n2\n3\n4", True), ("1\n2\n3\n5", False),
    ("4 values hashing to ", False), ("4 values hashing to 60b725f10c9c85c70d97880dfe8191b3", False),
])
def test_forms_of_expected_rows(expected: str, passes: bool) -> None:
    text = f"query II rowsort\nSELECT * FROM (VALUES (1, 2), (3, 4)) AS v(x, y)\n----\n{expected}\n"
    assert bool(run_records(read_records(text)).passed) == passes


def test_words_for_other_engines_loops_and_ends() -> None:
    records = read_records(
        "# a comment\nonlyif mysql\nquery I\nSELECT 1\n----\n1\n\nskipif mysql\nquery I\nSELECT 2\n----\n2\n\n"
        "loop i 0 2\n\nquery I\nSELECT ${i}\n----\n${i}\n\nendloop\n\nhalt\n\nquery I\nSELECT 9\n----\n9\n")
    assert [record.text for record in records] == ["SELECT 2", "SELECT 0", "SELECT 1"]
    assert run_records(records).passed == 3


@pytest.mark.parametrize(("choice", "refused"), [
    ("COALESCE(2, - AVG(45)) / 63", True), ("CASE WHEN 1 < 2 THEN 93 ELSE AVG(86) + 12 END % 86", True),
    ("COALESCE(2, COUNT(*)) / 63", False), ("COALESCE(2, AVG(45)) * 63", False),
    ("COALESCE(2, CAST(AVG(45) AS INTEGER)) / 63", False), ("COALESCE(NULL, AVG(45)) / 63", False)])
def test_a_division_by_the_type_of_a_value_is_refused(choice: str, refused: bool) -> None:
    report = run_records(read_records(f"query I nosort\nSELECT {choice}\n----\n0\n"))
    assert list(report.refusals) == [
        "SQLite divides a choice between an integer and a float by the type of each value."] * refused
