"""The classes of Hive's expressions, and their fields in Kryo's order.

This is the allow-list: a stream that names any other class is not understood. Kryo writes no names of fields,
but the fields of a class and of its parents in the order of their names, without the transient ones. So the
table has what Hive's own classes say (`tests/support/hive/expressions/LayoutMain.java` prints it).

A field has one of three kinds:

| kind | what is written |
|---|---|
| `int`, `boolean` … | the primitive value |
| `String`, `enum`, a final class | a reference, or the value |
| `*` | the class, and then as before; `*String` is a list of texts |
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

HIVE = "org.apache.hadoop.hive."
FUNCTIONS = f"{HIVE}ql.udf.generic."
PLAN = f"{HIVE}ql.plan."
TYPES = f"{HIVE}serde2.typeinfo."
VALUES = f"{HIVE}common.type."
_INSPECTORS = f"{HIVE}serde2.objectinspector."
_HIVE_WRITABLES = f"{HIVE}serde2.io."
_WRITABLES = "org.apache.hadoop.io."
_DECIMAL = "fast0:long fast1:long fast2:long fastIntegerDigitCount:int fastScale:int fastSerializationScale:int fastSignum:int"
_DECIMAL_WRITABLE = f"{_HIVE_WRITABLES}HiveDecimalWritable"
_NUMBERS = (
    f"byteWritable:* confLookupNeeded:boolean decimalWritable:{_DECIMAL_WRITABLE} doubleWritable:* floatWritable:* "
    "intWritable:* longWritable:* opDisplayName:String opName:String"
)
_TIMESTAMP_WRITABLE = "bytesEmpty:boolean currentBytes:[B externalBytes:[B internalBytes:[B offset:int timestamp:* timestampEmpty:boolean"

_FUNCTION_FIELDS = {
    "compareOI:* compareType:enum opDisplayName:String opName:String result:*": (
        "OPEqual OPNotEqual OPLessThan OPEqualOrLessThan OPGreaterThan OPEqualOrGreaterThan OPEqualNS OPNotEqualNS"
    ),
    "result:*": "OPAnd OPOr OPNot OPNull OPNotNull Length CharacterLength OctetLength Hash MurmurHash",
    "conditionConverter:* result:*": "OPTrue OPFalse OPNotTrue OPNotFalse",
    "bw:* isInSetConstant:boolean": "In",
    "argumentOIs:* egt:* elt:* result:*": "Between",
    "isOperator:boolean udfClassName:String udfName:String": "Bridge",
    "typeInfo:*": "ToChar ToVarchar ToDecimal",
    "intToTimestampInSeconds:boolean": "Timestamp",
    "": (
        "Struct NamedStruct ToDate ToString Date ToUnixTimeStamp FromUnixTime ToUtcTimestamp FromUtcTimestamp Upper "
        "Lower Concat Split Coalesce Nvl If When Case Nullif Greatest Least Decode Encode Elt Index CastFormat"
    ),
    "resultText:*": "ConcatWS",
    "result:* udfName:String": "Trim LTrim RTrim",
    "intWritable:*": "Instr Locate",
    "output:*": "InitCap SubstringIndex RegExp DateDiff DateFormat Quarter",
    "date:* output:*": "LastDay NextDay",
    "bw:* isAllPatternsConstant:boolean": "LikeAll LikeAny",
    "ansiSqlArithmetic:boolean arithmeticOperation:* confLookupNeeded:boolean opDisplayName:String opName:String": (
        "OPPlus OPMinus"
    ),
    f"ansiSqlArithmetic:boolean {_NUMBERS} shortWritable:*": (
        "OPNumericPlus OPNumericMinus OPMultiply OPDivide OPMod PosMod"
    ),
    f"byteWritable:* decimalWritable:{_DECIMAL_WRITABLE} doubleWritable:* floatWritable:* intWritable:* "
    "intervalDayTimeWritable:* intervalYearMonthWritable:* longWritable:* opDisplayName:String opName:String "
    "shortWritable:*": "OPNegative OPPositive",
    "opDisplayName:String opName:String": "OPDTIPlus OPDTIMinus",
    f"resultDecimal:{_DECIMAL_WRITABLE} resultDouble:* resultInt:* resultLong:*": "Abs",
    f"decimalWritable:{_DECIMAL_WRITABLE} longWritable:* opDisplayName:String opName:String": "Floor Ceil",
    "scale:int": "Round BRound",
    "doubleWritable:* opName:String": "Power",
    "output:* signModifier:int": "DateAdd DateSub",
}
"""Functions by their fields."""

_CLASS_FIELDS = {
    f"{PLAN}ExprNodeGenericFuncDesc": "children:* genericUDF:* isSortedExpr:boolean typeInfo:*",
    f"{PLAN}ExprNodeColumnDesc": (
        "column:String isPartitionColOrVirtualCol:boolean isSkewedCol:boolean tabAlias:String typeInfo:*"
    ),
    f"{PLAN}ExprNodeConstantDesc": "typeInfo:* value:*",
    f"{TYPES}PrimitiveTypeInfo": "typeName:String",
    f"{TYPES}DecimalTypeInfo": "precision:int scale:int typeName:String",
    f"{TYPES}CharTypeInfo": "length:int typeName:String",
    f"{TYPES}VarcharTypeInfo": "length:int typeName:String",
    f"{TYPES}StructTypeInfo": "allStructFieldNames:*String allStructFieldTypeInfos:*",
    f"{TYPES}ListTypeInfo": "listElementTypeInfo:*",
    f"{VALUES}HiveDecimal": _DECIMAL,
    f"{VALUES}HiveChar": "value:String",
    f"{VALUES}HiveVarchar": "value:String",
    f"{VALUES}Date": "localDate:java.time.LocalDate",
    f"{VALUES}Timestamp": "localDateTime:java.time.LocalDateTime",
    "java.time.LocalDate": "day:short month:short year:int",
    "java.time.LocalTime": "hour:byte minute:byte nano:int second:byte",
    "java.time.LocalDateTime": "date:java.time.LocalDate time:java.time.LocalTime",
    f"{_HIVE_WRITABLES}ByteWritable": "value:byte",
    f"{_HIVE_WRITABLES}ShortWritable": "value:short",
    f"{_HIVE_WRITABLES}DoubleWritable": "value:double",
    f"{_HIVE_WRITABLES}DateWritable": "daysSinceEpoch:int",
    f"{_HIVE_WRITABLES}DateWritableV2": "date:*",
    f"{_HIVE_WRITABLES}TimestampWritable": _TIMESTAMP_WRITABLE,
    f"{_HIVE_WRITABLES}TimestampWritableV2": _TIMESTAMP_WRITABLE,
    f"{_HIVE_WRITABLES}HiveCharWritable": "value:*",
    f"{_HIVE_WRITABLES}HiveVarcharWritable": "value:*",
    _DECIMAL_WRITABLE: f"{_DECIMAL} internalScratchBuffer:[B internalScratchLongs:[J isSet:boolean",
    f"{_HIVE_WRITABLES}HiveIntervalDayTimeWritable": "intervalValue:*",
    f"{_HIVE_WRITABLES}HiveIntervalYearMonthWritable": "intervalValue:*",
    f"{VALUES}HiveIntervalDayTime": "nanos:int totalSeconds:long",
    f"{VALUES}HiveIntervalYearMonth": "totalMonths:int",
    f"{_WRITABLES}Text": "bytes:[B length:int",
    f"{_WRITABLES}BytesWritable": "bytes:[B size:int",
    f"{_WRITABLES}BooleanWritable": "value:boolean",
    f"{_WRITABLES}IntWritable": "value:int",
    f"{_WRITABLES}LongWritable": "value:long",
    f"{_WRITABLES}FloatWritable": "value:float",
    f"{_WRITABLES}DoubleWritable": "value:double",
    f"{_INSPECTORS}ObjectInspectorConverters$IdentityConverter": "",
    f"{_INSPECTORS}primitive.PrimitiveObjectInspectorConverter$BooleanConverter": "inputOI:* outputOI:* r:*",
}
_INSPECTED = {
    "Boolean": "Boolean",
    "Byte": "Byte",
    "Short": "Short",
    "Int": "Integer",
    "Long": "Long",
    "Float": "Float",
    "Double": "Double",
    "String": "String",
    "Date": "",
    "Timestamp": "",
    "HiveDecimal": f"{VALUES}HiveDecimal",
    "HiveChar": "",
    "HiveVarchar": "",
    "Void": "",
    "Binary": "[B",
}
"""Types with inspectors, each with the final class of its constants in Java, if it has one."""

_PARTS_OF_TIMES = {
    f"{HIVE}ql.udf.UDF{name}": "calendar:* output:*"
    for name in ("Year", "Month", "DayOfMonth", "Hour", "Minute", "Second")
}
"""Functions with names of Hive's old kind that inherit from the new one, since Hive 3."""

_SIMPLE = {
    name: f"java.lang.{name}"
    for name in ("String", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double")
}

Fields = tuple[tuple[str, str], ...]
"""Names and kinds of fields."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the Kryo of some versions of Hive writes.

    Attributes:
        name: the versions, for the log.
        kryo5: whether it is Kryo 5, and not Kryo 3.
        registered: the classes that are written as a number, by that number.
        fields: the fields of each class of the allow-list.
    """

    name: str
    kryo5: bool
    registered: MappingProxyType[int, str]
    fields: MappingProxyType[str, Fields]


def _fields(text: str) -> Fields:
    pairs = (each.partition(":") for each in text.split())
    return tuple((name, _SIMPLE.get(kind, kind)) for name, _, kind in pairs)


def _layouts(changes: dict[str, str]) -> MappingProxyType[str, Fields]:
    texts = {
        f"{FUNCTIONS}GenericUDF{name}": text
        for text, names in _FUNCTION_FIELDS.items()
        for name in names.split()
    }
    texts |= _CLASS_FIELDS
    for name, constant in _INSPECTED.items():
        for form in ("Writable", "Java"):
            texts[f"{_INSPECTORS}primitive.{form}{name}ObjectInspector"] = "typeInfo:*"
            kind = constant if form == "Java" else _DECIMAL_WRITABLE if name == "HiveDecimal" else ""
            texts[f"{_INSPECTORS}primitive.{form}Constant{name}ObjectInspector"] = (
                f"typeInfo:* value:{kind or '*'}"
            )
    return MappingProxyType({name: _fields(text) for name, text in (texts | changes).items()})


_PRIMITIVES = dict(
    enumerate((*(_SIMPLE[name] for name in ("Integer", "String", "Float", "Boolean", "Byte")), "java.lang.Character",
               *(_SIMPLE[name] for name in ("Short", "Long", "Double"))))
)  # fmt: skip
_DATE, _TIMESTAMP, _ZONED = "java.sql.Date", "java.sql.Timestamp", f"{VALUES}TimestampTZ"
_PATH, _AS_LIST, _SUBLIST = (
    "org.apache.hadoop.fs.Path",
    "java.util.Arrays$ArrayList",
    "java.util.ArrayList$SubList",
)
_HADOOP_3_3 = {f"{_WRITABLES}Text": "bytes:[B length:int textLength:int"}
"""Hadoop's texts have a field more since 3.3."""
_DATE_DIFFERENCE = {f"{FUNCTIONS}GenericUDFDateDiff": "output:* result:*"}
_HIVE_2 = _DATE_DIFFERENCE | {
    f"{FUNCTIONS}GenericUDF{name}": "calendar:* output:*" for name in ("LastDay", "NextDay", "Quarter")
}
_HIVE_3 = _DATE_DIFFERENCE | _PARTS_OF_TIMES | {f"{FUNCTIONS}GenericUDFDateFormat": "date:* output:*"}
_HIVE_4 = (
    _PARTS_OF_TIMES
    | {
        f"{FUNCTIONS}GenericUDFRegExp": "output:* useGoogleRegexEngine:boolean",
        f"{_HIVE_WRITABLES}HiveCharWritable": "charLength:int value:*",
        f"{_HIVE_WRITABLES}HiveVarcharWritable": "charLength:int value:*",
    }
    | {
        f"{FUNCTIONS}GenericUDF{name}": f"ansiSqlArithmetic:boolean {_NUMBERS} predefinedTypeInfo:* shortWritable:*"
        for name in ("OPNumericPlus", "OPNumericMinus", "OPMultiply", "OPDivide", "OPMod", "PosMod")
    }
)


def _dialects() -> tuple[Dialect, ...]:
    found = []
    for name, kryo5, classes, changes in (
        ("Hive 2", False, ("", _DATE, _TIMESTAMP, _PATH, _AS_LIST), _HIVE_2),
        ("Hive 3", False, ("", _DATE, _TIMESTAMP, _ZONED, _PATH, _AS_LIST, _SUBLIST), _HIVE_3),
        ("Hive 4", True, (_DATE, _TIMESTAMP, _ZONED, _PATH, _AS_LIST, _SUBLIST), _HIVE_4),
    ):
        registered = MappingProxyType(_PRIMITIVES | dict(enumerate(classes, len(_PRIMITIVES))))
        found.append(Dialect(name, kryo5, registered, _layouts(changes)))
        found.append(Dialect(f"{name} with Hadoop 3.3", kryo5, registered, _layouts(changes | _HADOOP_3_3)))
    return tuple(found)


DIALECTS: Final = _dialects()
"""The dialects, from the oldest version on."""
