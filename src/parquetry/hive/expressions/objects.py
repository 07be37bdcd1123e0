"""Read one object of Kryo's stream, with all that it refers to, as plain values.

No class of Java and no code of a client runs: an object becomes a `JavaObject`, a name with fields. Its class
has to be on the allow-list (`layouts`), or one of the few lists and values below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from parquetry.hive.expressions.layouts import Dialect, Fields
from parquetry.hive.expressions.stream import ByteStream, UnreadExpressionError

MAX_OBJECT_DEPTH = 100
"""Objects within objects: each level takes up to four of the 1,000 calls that Python allows."""
_NULL, _NEW = 0, 1
_LISTS = (
    "java.util.ArrayList",
    "java.util.LinkedList",
    "java.util.HashSet",
    "java.util.LinkedHashSet",
    # what Hive 4 makes of an IN whose literals have several types; Hive itself cannot read it
    "org.apache.hive.com.google.common.collect.AbstractMapBasedMultimap$RandomAccessWrappedList",
)
_BOXED: dict[str, Callable[[ByteStream], Any]] = {
    "java.lang.Integer": lambda stream: stream.signed(),
    "java.lang.Long": lambda stream: stream.signed(64),
    "java.lang.Short": lambda stream: stream.fixed("h"),
    "java.lang.Byte": lambda stream: stream.fixed("b"),
    "java.lang.Boolean": lambda stream: stream.boolean(),
    "java.lang.Float": lambda stream: stream.floating("f"),
    "java.lang.Double": lambda stream: stream.floating("d"),
    "java.lang.Character": lambda stream: chr(stream.fixed("h") & 0x7F),
}  # fmt: skip
"""Readers of values without references."""
_PRIMITIVE = {
    "int": "java.lang.Integer",
    "long": "java.lang.Long",
    "short": "java.lang.Short",
    "byte": "java.lang.Byte",
    "boolean": "java.lang.Boolean",
    "float": "java.lang.Float",
    "double": "java.lang.Double",
}


@dataclass(frozen=True, slots=True)
class JavaObject:
    """An object of the stream.

    Attributes:
        name: its class.
        fields: its fields by name.
    """

    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Boxed:
    """A number or boolean of the stream, with its class: 1 may be an `Integer` or a `Long`."""

    name: str
    value: bool | int | float | str


class _Unfinished:
    """The place of an object that is being read."""


_UNFINISHED = _Unfinished()


@dataclass(slots=True)
class ObjectReader:
    """A reader of one stream.

    Attributes:
        stream: the bytes.
        dialect: how they were written.
        classes: the classes that the stream has named so far.
        objects: the objects that may be referred to, in the order of their beginnings.
        depth: how many objects the next one is within.
    """

    stream: ByteStream
    dialect: Dialect
    classes: list[str] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    depth: int = 0

    def class_and_object(self) -> Any:
        """Read a class and an object of it, or null."""
        name = self.class_name()
        return None if name is None else self.object(name)

    def class_name(self) -> str | None:
        """Read the name of a class, or None for null."""
        number = self.stream.unsigned()
        if number == _NULL:
            return None
        if number != 1:
            name = self.dialect.registered.get(number - 2)
            if not name:
                raise UnreadExpressionError(f"class {number - 2} is not one of those of {self.dialect.name}")
            return name
        place = self.stream.unsigned()
        if place > len(self.classes):
            raise UnreadExpressionError(f"class {place} has no name")
        if place == len(self.classes):
            self.classes.append(self.stream.text() or "")
        return self.classes[place]

    def object(self, name: str, may_be_null: bool = False) -> Any:
        """Read an object of a class, or the reference to one that was read before.

        Args:
            name: the class.
            may_be_null: whether null has a form of its own here.
        """
        read = _BOXED.get(name)
        if read is not None:
            if may_be_null and not self._is_there():
                return None
            return Boxed(name, read(self.stream))
        place = self.stream.unsigned()
        if place == _NULL and may_be_null:
            return None
        if place > _NEW:
            return self._referenced(place - 2)
        if place != _NEW:
            raise UnreadExpressionError("an object is missing")
        if self.depth >= MAX_OBJECT_DEPTH:
            raise UnreadExpressionError(f"objects are nested more than {MAX_OBJECT_DEPTH} deep")
        number = len(self.objects)
        self.objects.append(_UNFINISHED)
        self.depth += 1
        found = self._content(name)
        self.depth -= 1
        self.objects[number] = found
        return found

    def _is_there(self) -> bool:
        mark = self.stream.unsigned()
        if mark > _NEW:
            raise UnreadExpressionError("a value without references has one")
        return mark == _NEW

    def _referenced(self, place: int) -> Any:
        if place >= len(self.objects) or self.objects[place] is _UNFINISHED:
            raise UnreadExpressionError(f"object {place} is not there yet")
        return self.objects[place]

    def _content(self, name: str) -> Any:
        if name == "java.lang.String":
            return self.stream.text()
        own = _OWN_FORMS.get(name) or (_KRYO_5_FORMS.get(name) if self.dialect.kryo5 else None)
        if own is not None:
            return own(self)
        if name in _LISTS:
            return self._list("")
        if name.startswith("[L"):
            return self._array()
        fields = self.dialect.fields.get(name)
        if fields is None:
            raise UnreadExpressionError(f"class {name[:200]} is not on the list of classes that are read")
        return JavaObject(name, self._fields(fields))

    def _fields(self, fields: Fields) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, kind in fields:
            boxed = _PRIMITIVE.get(kind)
            if boxed is not None:
                found[name] = _BOXED[boxed](self.stream)
            elif kind == "*":
                found[name] = self.class_and_object()
            elif kind == "*String":
                found[name] = self._texts()
            elif kind == "enum":
                found[name] = self._enum()
            else:
                found[name] = self.object(kind, may_be_null=True)
        return found

    def _enum(self) -> int | None:
        """Read the number of an enum's constant; Kryo 3 can refer to one that was read before."""
        if self.dialect.kryo5:
            return self.stream.unsigned() - 1 if self._is_there() else None
        place = self.stream.unsigned()
        if place == _NULL:
            return None
        if place > _NEW:
            found = self._referenced(place - 2)
            if not isinstance(found, int):
                raise UnreadExpressionError("an enum refers to another object")
            return found
        value = self.stream.unsigned() - 1
        self.objects.append(value)
        return value

    def _length(self, length: int) -> int:
        """Return a length that the bytes which are left can have: an element has a byte or more."""
        if not 0 <= length <= self.stream.remaining:
            raise UnreadExpressionError("a list is longer than the bytes")
        return length

    def _list(self, element: str) -> list[Any]:
        """Read a list.

        Args:
            element: the only class of elements, if its field says one.
        """
        if self.dialect.kryo5:
            return self._flagged_list(element)
        count = self._length(self.stream.unsigned())
        if element:
            return [self.object(element, may_be_null=True) for _ in range(count)]
        return [self.class_and_object() for _ in range(count)]

    def _flagged_list(self, element: str) -> list[Any]:
        """Read a list of Kryo 5: the flag says that all elements have a class, or that some may be null."""
        flag, length = self.stream.flagged()
        count = self._length(length - 1)
        if count == 0:
            return []
        if element:
            return [self.object(element, may_be_null=flag) for _ in range(count)]
        if not flag:
            return [self.class_and_object() for _ in range(count)]
        name = self.class_name()
        if name is None:
            return [None] * count
        nulls = self.stream.boolean()
        return [self.object(name, may_be_null=nulls) for _ in range(count)]

    def _texts(self) -> Any:
        name = self.class_name()
        if name is None:
            return None
        if name not in _LISTS:
            return self.object(name)
        place = self.stream.unsigned()
        if place > _NEW:
            return self._referenced(place - 2)
        if place != _NEW:
            raise UnreadExpressionError("a list is missing")
        number = len(self.objects)
        self.objects.append(_UNFINISHED)
        self.objects[number] = found = self._list("java.lang.String")
        return found

    def _array(self) -> list[Any]:
        count = self._length(self.stream.unsigned() - 1)
        return [self.class_and_object() for _ in range(count)]

    def _array_as_list(self) -> list[Any]:
        count = self._length(self.stream.unsigned())
        self.class_name()
        return [self.class_and_object() for _ in range(count)]

    def _sublist(self) -> list[Any]:
        whole = self.class_and_object()
        start, end = self.stream.unsigned(), self.stream.unsigned()
        if not isinstance(whole, list) or not start <= end <= len(whole):
            raise UnreadExpressionError("a part of a list is not in the list")
        return whole[start:end]

    def _bytes(self) -> bytes:
        return self.stream.take(self.stream.unsigned() - 1)

    def _longs(self) -> list[int]:
        count = self._length(self.stream.unsigned() - 1)
        return [
            self.stream.fixed("q") if self.dialect.kryo5 else self.stream.signed(64) for _ in range(count)
        ]

    def _calendar(self) -> JavaObject:
        """Read a calendar, which functions keep for their own use."""
        zone = self.stream.text()
        self.stream.unsigned(64)
        self.stream.boolean()
        self.stream.unsigned()
        self.stream.unsigned()
        self.stream.signed(64)
        return JavaObject("java.util.Calendar", {"zone": zone})

    def _util_date(self) -> JavaObject:
        return JavaObject("java.util.Date", {"millis": self.stream.unsigned(64)})

    def _sql_date(self) -> JavaObject:
        return JavaObject("java.sql.Date", {"millis": self.stream.fixed("q")})

    def _sql_timestamp(self) -> JavaObject:
        millis = self.stream.fixed("q")
        return JavaObject("java.sql.Timestamp", {"millis": millis, "nanos": self.stream.fixed("i")})

    def _local_date(self) -> JavaObject:
        fields = {"year": self.stream.unsigned(), "month": self.stream.byte(), "day": self.stream.byte()}
        return JavaObject("java.time.LocalDate", fields)

    def _local_date_time(self) -> JavaObject:
        return JavaObject("java.time.LocalDateTime", {"date": self._local_date(), "time": self._local_time()})

    def _local_time(self) -> JavaObject:
        """Read a time of day: the last of its parts that is not zero is inverted, if it is no fraction."""
        fields = {"hour": 0, "minute": 0, "second": 0, "nano": 0}
        for part in ("hour", "minute", "second"):
            value = self.stream.fixed("b")
            fields[part] = value if value >= 0 else ~value
            if value < 0:
                return JavaObject("java.time.LocalTime", fields)
        fields["nano"] = self.stream.unsigned()
        return JavaObject("java.time.LocalTime", fields)


_Form = Callable[[ObjectReader], Any]
_OWN_FORMS: dict[str, _Form] = {
    "java.util.Arrays$ArrayList": ObjectReader._array_as_list,
    "java.util.ArrayList$SubList": ObjectReader._sublist,
    "java.util.Collections$EmptyList": lambda _: [],
    "java.util.Collections$SingletonList": lambda reader: [reader.class_and_object()],
    "[B": ObjectReader._bytes,
    "[J": ObjectReader._longs,
    "java.util.GregorianCalendar": ObjectReader._calendar,
    "java.util.Date": ObjectReader._util_date,
    "java.sql.Date": ObjectReader._sql_date,
    "java.sql.Timestamp": ObjectReader._sql_timestamp,
}
"""Classes with a form of their own."""
_KRYO_5_FORMS: dict[str, _Form] = {
    "java.time.LocalDate": ObjectReader._local_date,
    "java.time.LocalTime": ObjectReader._local_time,
    "java.time.LocalDateTime": ObjectReader._local_date_time,
}


def read_object(data: bytes, dialect: Dialect, root: str | None) -> Any:
    """Read the object that some bytes consist of.

    Args:
        data: the bytes.
        dialect: how they were written.
        root: the object's class, or None if the bytes name it.

    Raises:
        UnreadExpressionError: the bytes are no such object, or have a class that is not on the list.
    """
    reader = ObjectReader(ByteStream(data, dialect.kryo5), dialect)
    found = reader.class_and_object() if root is None else reader.object(root)
    if reader.stream.remaining:
        raise UnreadExpressionError(f"{reader.stream.remaining} bytes follow the object")
    return found
