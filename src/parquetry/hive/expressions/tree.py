"""Make a tree of columns, constants and calls of the objects that a stream has.

This is where a stream proves to be an expression: an object that is no node, or a node whose parts have other
classes than Hive gives them, is not understood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parquetry.hive.expressions.layouts import DIALECTS, FUNCTIONS, HIVE, PLAN, TYPES, VALUES, Dialect
from parquetry.hive.expressions.objects import Boxed, JavaObject, read_object
from parquetry.hive.expressions.stream import UnreadExpressionError

MAX_EXPRESSION_BYTES = 2_000_000
"""Bytes of an expression: an IN of 100,000 texts has 1.4 MB, which take 2 seconds.

A longer expression is not read.
"""
MAX_NODES = 200_000
"""Nodes of an expression, as often as they appear: a stream may refer to one object many times."""
MAX_TREE_DEPTH = 100
"""Calls within calls."""
_ROOT = f"{PLAN}ExprNodeGenericFuncDesc"
_NAMED_ROOT = b"\x01\x00org.apache.hadoop.hive.ql.plan.ExprNode"
"""How a stream begins that names the class of its root, as Hive 4 sends it."""


@dataclass(frozen=True, slots=True)
class ColumnNode:
    """A column.

    Attributes:
        name: as the client writes it.
        type: Hive's name of the type.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ConstantNode:
    """A constant; its value is as the stream has it."""

    value: Any
    type: str


@dataclass(frozen=True, slots=True)
class CallNode:
    """A function of other nodes.

    Attributes:
        function: its class, without what all have: `OPEqual`, `In`, `UDFToInteger`.
        args: the arguments.
        type: Hive's name of the type of its results.
        compared: the types that a comparison converts its sides to, if it converts them: two of BETWEEN, one
            of all others. An empty text is a comparison without a conversion.
    """

    function: str
    args: tuple[ExpressionNode, ...]
    type: str
    compared: tuple[str, ...] = ()


ExpressionNode: TypeAlias = ColumnNode | ConstantNode | CallNode


def read_tree(data: bytes) -> tuple[ExpressionNode, Dialect]:
    """Read the expression that a client sent; return it and how it was written.

    Raises:
        UnreadExpressionError: the bytes are no expression, or have a class that is not on the list.
    """
    if len(data) > MAX_EXPRESSION_BYTES:
        raise UnreadExpressionError(f"it has {len(data)} bytes, and {MAX_EXPRESSION_BYTES} are read at most")
    named = data.startswith(_NAMED_ROOT)
    reasons = []
    for dialect in DIALECTS:
        if dialect.kryo5 == named:
            try:
                found = _Tree().node(read_object(data, dialect, None if named else _ROOT), 0)[0]
                return found, dialect
            except UnreadExpressionError as error:
                reasons.append(f"{dialect.name}: {error}")
    raise UnreadExpressionError("; ".join(reasons))


@dataclass(slots=True)
class _Tree:
    """The nodes so far of one tree.

    Attributes:
        count: how many there are, as often as they appear.
        made: nodes by the identity of their objects, each with its number of nodes and of levels.
    """

    count: int = 0
    made: dict[int, tuple[ExpressionNode, int, int]] = field(default_factory=dict)

    def node(self, found: Any, depth: int) -> tuple[ExpressionNode, int]:
        """Make a node, and those below it, of an object; return it and its number of levels."""
        if id(found) in self.made:
            node, nodes, levels = self.made[id(found)]
            self._add(nodes, depth + levels)
            return node, levels
        before = self.count
        self._add(1, depth)
        node, levels = self._made(found, depth)
        self.made[id(found)] = node, self.count - before, levels
        return node, levels

    def _add(self, nodes: int, depth: int) -> None:
        self.count += nodes
        if self.count > MAX_NODES or depth > MAX_TREE_DEPTH:
            raise UnreadExpressionError("it has too many nodes, or too many levels of them")

    def _made(self, found: Any, depth: int) -> tuple[ExpressionNode, int]:
        if not isinstance(found, JavaObject):
            raise UnreadExpressionError("an object is no node of an expression")
        fields = found.fields
        match found.name.removeprefix(PLAN):
            case "ExprNodeColumnDesc":
                return ColumnNode(_text(fields["column"]), type_name(fields["typeInfo"])), 1
            case "ExprNodeConstantDesc":
                return ConstantNode(fields["value"], type_name(fields["typeInfo"])), 1
            case "ExprNodeGenericFuncDesc":
                return self._call(fields, depth)
        raise UnreadExpressionError(f"class {found.name} is no node of an expression")

    def _call(self, fields: dict[str, Any], depth: int) -> tuple[CallNode, int]:
        function, children = fields["genericUDF"], fields["children"]
        if not isinstance(function, JavaObject) or not isinstance(children, list):
            raise UnreadExpressionError("a call has no function, or no list of arguments")
        name = function.name
        compared: tuple[str, ...] = ()
        if name == f"{FUNCTIONS}GenericUDFBridge":
            name = _text(function.fields["udfClassName"])
        elif not name.startswith((f"{FUNCTIONS}GenericUDF", f"{HIVE}ql.udf.UDF")):
            raise UnreadExpressionError(f"class {name} is no function")
        else:
            compared = _compared(function)
        made = [self.node(child, depth + 1) for child in children]
        short = name.removeprefix(f"{FUNCTIONS}GenericUDF").removeprefix(f"{HIVE}ql.udf.")
        args, levels = tuple(node for node, _ in made), max((levels for _, levels in made), default=0)
        return CallNode(short, args, type_name(fields["typeInfo"]), compared), levels + 1


def _compared(function: JavaObject) -> tuple[str, ...]:
    """Return the types that a comparison converts its sides to."""
    if "compareOI" in function.fields:
        inspector = function.fields["compareOI"]
        if inspector is None:
            return ("",)
        if not isinstance(inspector, JavaObject) or "typeInfo" not in inspector.fields:
            raise UnreadExpressionError("a comparison has no type")
        return (type_name(inspector.fields["typeInfo"]),)
    parts = [function.fields[part] for part in ("egt", "elt") if part in function.fields]
    if not all(isinstance(part, JavaObject) and "compareOI" in part.fields for part in parts):
        raise UnreadExpressionError("BETWEEN has no comparisons")
    return tuple(name for part in parts for name in _compared(part))


def type_name(info: Any) -> str:
    """Return Hive's name of a type, with its parameters."""
    if not isinstance(info, JavaObject) or not info.name.startswith(TYPES):
        raise UnreadExpressionError("a node has no type")
    fields = info.fields
    match info.name.removeprefix(TYPES):
        case "PrimitiveTypeInfo":
            return _text(fields["typeName"])
        case "DecimalTypeInfo":
            return f"decimal({fields['precision']},{fields['scale']})"
        case "CharTypeInfo":
            return f"char({fields['length']})"
        case "VarcharTypeInfo":
            return f"varchar({fields['length']})"
    return "struct"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnreadExpressionError("a name is no text")
    return value


def text_of(node: ExpressionNode, depth: int = 0) -> str:
    """Write a node for people, its first levels and arguments only."""
    match node:
        case ColumnNode(name):
            return name
        case ConstantNode(value):
            return _constant_text(value)
        case CallNode(function, args):
            if depth > 3:
                return f"{function}(…)"
            texts = [text_of(each, depth + 1) for each in args[:6]]
            return f"{function}({', '.join(texts + ['…'] * (len(args) > 6))})"[:500]


def _constant_text(value: Any) -> str:
    match value:
        case str():
            return repr(value[:100])
        case Boxed(_, number):
            return str(number)
        case JavaObject(name, fields):
            shown = fields.get("value")
            return (
                repr(shown[:100]) if isinstance(shown, str) else name.removeprefix(VALUES).rpartition(".")[2]
            )
    return "NULL" if value is None else "…"
