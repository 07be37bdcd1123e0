"""Words of SQL for what Spark calls by inner names: nodes of plans, types of joins, functions around columns.

A report says what a user typed or knows. Spark's optimizer adds nodes and functions that no user has typed,
such as `knownfloatingpointnormalized(normalizenanandzero(f))` for a join key `f` of type DOUBLE.
"""

from __future__ import annotations

import re

_NODE_WORDS = {
    "Aggregate": "GROUP BY",
    "Expand": "GROUPING SETS",
    "Filter": "WHERE",
    "Generate": "LATERAL VIEW",
    "GlobalLimit": "LIMIT",
    "Join": "a join",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Pivot": "PIVOT",
    "Project": "SELECT",
    "RebalancePartitions": "a REBALANCE hint",
    "Repartition": "a REPARTITION hint",
    "RepartitionByExpression": "DISTRIBUTE BY",
    "Sample": "TABLESAMPLE",
    "ScriptTransformation": "TRANSFORM",
    "Sort": "ORDER BY",
    "Tail": "tail()",
    "Union": "UNION",
    "UnionLoop": "WITH RECURSIVE",
    "UnionLoopRef": "the rows of WITH RECURSIVE",
    "Window": "a window function",
    "WindowGroupLimit": "a window function",
    "WithCTE": "WITH",
    "CTERelationRef": "a query of WITH",
    "CommandResult": "the result of a statement",
    "EmptyRelation": "no rows",
    "ExternalRDD": "rows of a program",
    "InMemoryRelation": "cached data",
    "LocalRelation": "VALUES",
    "LocalTableScan": "VALUES",
    "LogicalRDD": "rows of a program",
    "OneRowRelation": "SELECT without FROM",
    "RDD": "rows of a program",
    "Range": "range()",
}
_PYTHON = re.compile(r"(?:Python|Pandas|Arrow|InPandas|InArrow)")
_TYPED = re.compile(r"(?:Map|FlatMap|CoGroup|AppendColumns|TypedFilter|Deserialize|Serialize)\w*")
_WRAPPERS = re.compile(
    r"\b(?:knownfloatingpointnormalized|normalizenanandzero|knownnullable|knownnotnull|promote_precision|"
    r"checkoverflow|outer|runtimereplaceable|tempresolvedcolumn)\("
)
_SUBQUERIES = re.compile(r"\b(?:scalarsubquery|listquery|exists|insubquery|dynamicpruningsubquery)\(\)")
_NUMBERED = re.compile(r"\b(?:scalar-)?(?:subquery|dynamicpruning)#\d+(?:\s*\[[^\]]*\])?")
_PADDING = re.compile(r"static_?invoke\((?:\w+\.)*CharVarcharCodegenUtils\.\w+\(", re.IGNORECASE)
_IDS = re.compile(r"(?<=[\w)`])#\d+L?\b")
_NULL_FIRST = re.compile(r"^(\(?)NULL OR ")
_NOT_IN = re.compile(r"\(\((?P<left>.+) = (?P<right>.+)\) OR \(\((?P=left) = (?P=right)\) IS NULL\)\)")
_IS_NULL = re.compile(r"^IS_NULL\((.*)\)$")
_QUOTED = re.compile(r"('(?:[^'\\]|\\.|'')*'|`(?:[^`]|``)*`)")


def join_words(type: str) -> str:
    """Return a type of join in words of SQL.

    >>> join_words("LEFT OUTER"), join_words("EXISTS"), join_words("LEFT SINGLE")
    ('LEFT OUTER JOIN', 'EXISTS or IN beside OR', 'scalar subquery')
    """
    return {"EXISTS": "EXISTS or IN beside OR", "LEFT SINGLE": "scalar subquery"}.get(type, f"{type} JOIN")


def node_words(node: str) -> str:
    """Return a node of a plan in words of SQL; a name that is not known is of no inner node and stays.

    >>> node_words("GlobalLimit"), node_words("UnionLoopRef"), node_words("lake.db.t")
    ('LIMIT', 'the rows of WITH RECURSIVE', 'lake.db.t')
    >>> node_words("Scan OneRowRelation"), node_words("BatchEvalPython"), node_words("MapPartitions")
    ('SELECT without FROM', 'a Python function', "a program's function")
    """
    if "." in node:
        return node
    name = node.removeprefix("Scan ").removeprefix("Existing").removesuffix("Exec")
    if name in _NODE_WORDS:
        return _NODE_WORDS[name]
    if _PYTHON.search(name):
        return "a Python function"
    return "a program's function" if _TYPED.fullmatch(name) else node


def plain_text(text: str) -> str:
    """Return a text without the functions and ids that Spark's optimizer puts around what a user typed.

    Quoted texts and names stay as they are. But Spark names a column after its expression: such a name loses
    its quotes.

    >>> plain_text("knownfloatingpointnormalized(normalizenanandzero(f)) IN (1.0D, 2.0D)")
    'f IN (1.0D, 2.0D)'
    >>> plain_text("NULL OR x IS NULL"), plain_text("(k#12L > scalarsubquery()) AND s = '#1'")
    ('x IS NULL', "(k > (SELECT …)) AND s = '#1'")
    """
    parts = _QUOTED.split(text)
    # Quoted parts are at the odd positions; a mark stands for each, so that parentheses in them do not count.
    marked = "".join(part if i % 2 == 0 else f"\0{i}\0" for i, part in enumerate(parts))
    marked = _SUBQUERIES.sub("(SELECT …)", marked)
    marked = _NUMBERED.sub("(SELECT …)", marked)
    marked = _IDS.sub("", marked)
    while (found := _WRAPPERS.search(marked)) is not None:
        marked = _unwrap(marked, found.start(), found.end(), 1)
    while (found := _PADDING.search(marked)) is not None:
        marked = _unwrap(marked, found.start(), found.end(), 2)
    marked = _IS_NULL.sub(r"(\1) IS NULL", marked)
    marked = _NULL_FIRST.sub(r"\1", marked)
    return re.sub("\0(\\d+)\0", lambda found: _unquoted(parts[int(found[1])]), marked)


def key_of_not_in(condition: str, column: str) -> str:
    """Return what NOT IN compares a column with, from the condition that Spark makes of it.

    >>> key_of_not_in("((x = (y + 1)) OR ((x = (y + 1)) IS NULL))", "x"), key_of_not_in("k", "x")
    ('(y + 1)', 'k')
    """
    match = _NOT_IN.fullmatch(condition)
    if match is None:
        return condition
    return match["right"] if match["left"] == column else match["left"]


def _unquoted(name: str) -> str:
    """Return a quoted name without quotes if it is an expression's text."""
    return name.strip("`") if name.startswith("`") and "(" in name else name


def _unwrap(text: str, start: int, inside: int, parentheses: int) -> str:
    """Return a text with a function call replaced by its first argument; `parentheses` are open inside."""
    depth, end, first = parentheses, inside, None
    while end < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if first is None and ((text[end] == "," and depth == parentheses) or depth < parentheses):
            first = end
        end += 1
    return f"{text[:start]}{text[inside : len(text) if first is None else first]}{text[end:]}"
