"""Functions of other databases, and what this language has in their place."""

from __future__ import annotations

from typing import Final

WORKING_HERE: Final[dict[str, str]] = {
    **dict.fromkeys(("age", "timestampdiff", "timestamp_diff", "months_between"), "date_diff('day', t, u)"),
    **dict.fromkeys(("date_add", "dateadd", "timestampadd", "timestamp_add", "add_months"), "t + INTERVAL '1' DAY"),
    **dict.fromkeys(("date_sub", "datesub", "timestamp_sub"), "t - INTERVAL '1' DAY"),
    **dict.fromkeys(("make_date", "date_from_parts", "datefromparts"), "CAST('2024-01-31' AS DATE)"),
    **dict.fromkeys(("make_timestamp", "timestamp_from_parts"), "CAST('2024-01-31 12:00:00' AS TIMESTAMP)"),
    **dict.fromkeys(("to_timestamp", "to_date", "str_to_time", "str_to_date", "parse_timestamp"),
                    "strptime(s, '%Y-%m-%d')"),
    **dict.fromkeys(("date_format", "to_char", "time_to_str", "format_timestamp"), "strftime(t, '%Y-%m-%d')"),
    "monthname": "strftime(t, '%B')", "dayname": "strftime(t, '%A')",
    "initcap": "title(s)", "concat_ws": "concat(s, ',', s)",
    **dict.fromkeys(("split", "string_split", "str_split", "string_to_array"), "split_part(s, ',', 1)"),
    "to_number": "to_float(s)", "truncate": "trunc(x)", "square": "power(x, 2)", "cot": "1 / tan(x)",
    **dict.fromkeys(("json_extract", "json_extract_scalar", "json_value", "get_json_object"),
                    "json_extract_string(s, '$.a')"),
    **dict.fromkeys(("array_length", "array_size", "cardinality", "list_size"), "list_length(l)"),
    "list": "array_agg(x)", "is_inf": "abs(x) = CAST('inf' AS DOUBLE)",
    "array_contains": "list_contains(l, 1)", "array_sort": "list_sort(l)",
    "isnull": "x IS NULL", "notnull": "x IS NOT NULL", "zeroifnull": "coalesce(x, 0)", "iff": "if(x > 0, 1, 2)",
    "nvl2": "if(x IS NOT NULL, 1, 2)", "decode_case": "CASE n WHEN 1 THEN 2 END",
    "mean": "avg(x)", "stdev": "stddev(x)", "std": "stddev(x)", "var": "variance(x)",
    **dict.fromkeys(("count_distinct", "nunique"), "count(DISTINCT x)"),
}
"""Expressions of times t and u, a text s, numbers x and n, and a list l, by the names of other databases."""

ELSEWHERE_ONLY: Final = frozenset((
    "ascii", "bin", "bit_count", "bitwise_count", "chr", "crc32", "even", "factorial", "format", "from_base64",
    "from_unixtime", "gamma", "hex", "last_day", "levenshtein", "md5", "overlay", "pg_typeof", "printf", "sha", "sha1",
    "sha2", "sha256", "soundex", "struct", "to_base64", "to_json", "translate", "typeof", "unhex", "unicode",
    "width_bucket",
))
"""Names that this language has nothing like, though some of its names look alike."""
