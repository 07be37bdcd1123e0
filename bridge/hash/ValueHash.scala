package org.apache.spark.sql.parquetry.hash

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.types._

/** Hashes a value where it stands: a field of a row or an element of an array, other than NULL. */
trait ValueHash extends Serializable {
  def at(row: SpecializedGetters, ordinal: Int): Int

  final def orNull(row: SpecializedGetters, ordinal: Int): Int = if (row.isNullAt(ordinal)) 0 else at(row, ordinal)
  final def of(value: Any): Int = at(new GenericInternalRow(Array[Any](value)), 0)
}

object ValueHash {
  /** Whether a type has a hash: all have it that Hive has, as far as they may be stored. */
  def has(t: DataType): Boolean = t match {
    case StructType(fields) => fields.forall(f => has(f.dataType))
    case ArrayType(element, _) => has(element)
    case MapType(key, value, _) => has(key) && has(value)
    case _ => method(t).isDefined
  }

  /** The name of the method of `HiveHashCode` for values of a type that is not nested. */
  private def method(t: DataType): Option[String] = t match {
    case BooleanType => Some("ofBoolean")
    case ByteType => Some("ofByte")
    case ShortType => Some("ofShort")
    case IntegerType | DateType => Some("ofInt")
    case LongType => Some("ofLong")
    case FloatType => Some("ofFloat")
    case DoubleType => Some("ofDouble")
    case _: CharType => Some("ofChar")
    case _: VarcharType => Some("ofVarchar")
    case s: StringType if s.supportsBinaryEquality => Some("ofString")
    case BinaryType => Some("ofBinary")
    case _: DecimalType => Some("ofDecimal")
    case TimestampType | TimestampNTZType => Some("ofTimestamp")
    case NullType => Some("")
    case _ => None
  }

  /** Java code of the hash of a value other than NULL in a variable; of nested types it calls what walks through them. */
  def code(version: Int, t: DataType, value: String, ctx: CodegenContext): String = method(t) match {
    case Some("") => "0"
    case Some(name) => s"${HiveHashCode.of(version).getClass.getName.stripSuffix("$")}.$name($value)"
    case None => s"${ctx.addReferenceObj("hash", apply(version, t), classOf[ValueHash].getName)}.of($value)"
  }

  def apply(version: Int, t: DataType): ValueHash = {
    val hash = HiveHashCode.of(version)
    t match {
      case BooleanType => (row, i) => hash.ofBoolean(row.getBoolean(i))
      case ByteType => (row, i) => hash.ofByte(row.getByte(i))
      case ShortType => (row, i) => hash.ofShort(row.getShort(i))
      case IntegerType | DateType => (row, i) => hash.ofInt(row.getInt(i))
      case LongType => (row, i) => hash.ofLong(row.getLong(i))
      case FloatType => (row, i) => hash.ofFloat(row.getFloat(i))
      case DoubleType => (row, i) => hash.ofDouble(row.getDouble(i))
      case _: CharType => (row, i) => hash.ofChar(row.getUTF8String(i))
      case _: VarcharType => (row, i) => hash.ofVarchar(row.getUTF8String(i))
      case _: StringType => (row, i) => hash.ofString(row.getUTF8String(i))
      case BinaryType => (row, i) => hash.ofBinary(row.getBinary(i))
      case d: DecimalType => (row, i) => hash.ofDecimal(row.getDecimal(i, d.precision, d.scale))
      case TimestampType | TimestampNTZType => (row, i) => hash.ofTimestamp(row.getLong(i))
      case NullType => (_, _) => 0
      case StructType(fields) => struct(fields.map(f => apply(version, f.dataType)))
      case ArrayType(element, _) => array(apply(version, element))
      // version 2 hashes the values of a map by version 1
      case MapType(key, value, _) => map(apply(version, key), apply(1, value))
    }
  }

  private def struct(fields: Array[ValueHash]): ValueHash = (row, ordinal) => {
    val values = row.getStruct(ordinal, fields.length)
    var hash = 0
    var i = 0
    while (i < fields.length) {
      hash = 31 * hash + fields(i).orNull(values, i)
      i += 1
    }
    hash
  }

  private def array(element: ValueHash): ValueHash = (row, ordinal) => {
    val values = row.getArray(ordinal)
    var hash = 0
    var i = 0
    while (i < values.numElements()) {
      hash = 31 * hash + element.orNull(values, i)
      i += 1
    }
    hash
  }

  private def map(key: ValueHash, value: ValueHash): ValueHash = (row, ordinal) => {
    val pairs = row.getMap(ordinal)
    var hash = 0
    var i = 0
    while (i < pairs.numElements()) {
      hash += key.orNull(pairs.keyArray(), i) ^ value.orNull(pairs.valueArray(), i)
      i += 1
    }
    hash
  }
}
