"""Scalar expressions: a closed set of nodes, and passes over them."""

from whimbrel.expr.build import (
    coalesce,
    col,
    concat_list,
    end_time,
    greatest,
    haversine,
    least,
    lit,
    start_time,
    when,
)
from whimbrel.expr.codegen import LiteralArguments, can_fail, inlinable, predicate_source, to_source
from whimbrel.expr.columns import children, columns_of, lifetime_of, substitute
from whimbrel.expr.condition_costs import Cost, all_of, calls_python, marked_cheap, parts_of, why_expensive
from whimbrel.expr.decimal_types import MAX_DIGITS, decimal
from whimbrel.expr.evaluate import evaluate, predicate
from whimbrel.expr.format import show
from whimbrel.expr.function_fingerprint import functions_in, identity
from whimbrel.expr.function_table import FUNCTION_TABLE, SQL_FUNCTIONS
from whimbrel.expr.literals import physical
from whimbrel.expr.named_expressions import (
    Column,
    Condition,
    Keys,
    check_name,
    check_text,
    key_of,
    named_columns,
    named_words,
)
from whimbrel.expr.nodes import (
    Binary,
    Call,
    Called,
    Cast,
    Col,
    Expr,
    Lit,
    OuterValue,
    Reduced,
    RowFunction,
    Unary,
    When,
    lift,
)
from whimbrel.expr.parameter import PARAMETER, ParameterValues, parameter
from whimbrel.expr.prefix_table import prefix_table
from whimbrel.expr.register import REGISTER, first_of, last_of, register, registers_of, trace_step
from whimbrel.expr.scalar_functions import SCALARS
from whimbrel.expr.segment_functions_scipy import check_level
from whimbrel.expr.segment_operations import ArrayFunction, array_function, correlate, lag, majority
from whimbrel.expr.string_search import split
from whimbrel.expr.trace import trace
from whimbrel.expr.type_predicates import can_be_key, check_key
from whimbrel.expr.types import binary_types, type_of
from whimbrel.expr.user_function import UserFunction, function, functions_called

__all__ = [
    "FUNCTION_TABLE",
    "MAX_DIGITS",
    "PARAMETER",
    "REGISTER",
    "SCALARS",
    "SQL_FUNCTIONS",
    "ArrayFunction",
    "Binary",
    "Call",
    "Called",
    "Cast",
    "Col",
    "Column",
    "Condition",
    "Cost",
    "Expr",
    "Keys",
    "Lit",
    "LiteralArguments",
    "OuterValue",
    "ParameterValues",
    "Reduced",
    "RowFunction",
    "Unary",
    "UserFunction",
    "When",
    "all_of",
    "array_function",
    "binary_types",
    "calls_python",
    "can_be_key",
    "can_fail",
    "check_key",
    "check_level",
    "check_name",
    "check_text",
    "children",
    "coalesce",
    "col",
    "columns_of",
    "concat_list",
    "correlate",
    "decimal",
    "end_time",
    "evaluate",
    "first_of",
    "function",
    "functions_called",
    "functions_in",
    "greatest",
    "haversine",
    "identity",
    "inlinable",
    "key_of",
    "lag",
    "last_of",
    "least",
    "lifetime_of",
    "lift",
    "lit",
    "majority",
    "marked_cheap",
    "named_columns",
    "named_words",
    "parameter",
    "parts_of",
    "physical",
    "predicate",
    "predicate_source",
    "prefix_table",
    "register",
    "registers_of",
    "show",
    "split",
    "start_time",
    "substitute",
    "to_source",
    "trace",
    "trace_step",
    "type_of",
    "when",
    "why_expensive",
]
