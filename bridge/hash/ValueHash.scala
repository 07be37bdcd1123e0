package org.apache.spark.sql.parquetry.hash

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.types._

/** Hashes a field of a row or an element of an array, if it is not NULL. */
trait ValueHash extends Serializable {
  def at(row: SpecializedGetters, ordinal: Int): Int

  final def orNull(row: SpecializedGetters, ordinal: Int): Int = if (row.isNullAt(ordinal)) 0 else at(row, ordinal)
  final def of(value: Any): Int = at(new GenericInternalRow(Array[Any](value)), 0)
}

object ValueHash {
  /** Whether a type has a hash: all types do that Hive has and that tables may store. */
  def has(t: DataType): Boolean = t match {
    case StructType(fields) => fields.forall(f => has(f.dataType))
    case ArrayType(element, _) => has(element)
    case MapType(key, value, _) => has(key) && has(value)
    case _ => method(t).isDefined
  }

  /** The name of the method of `HiveHashCode` for values of a type that is not nested. */
  private def method(t: DataType): Option[String] = t match {
    case BooleanType => Some("hashBoolean")
    case ByteType => Some("hashByte")
    case ShortType => Some("hashShort")
    case IntegerType | DateType => Some("hashInt")
    case LongType => Some("hashLong")
    case FloatType => Some("hashFloat")
    case DoubleType => Some("hashDouble")
    case _: CharType => Some("hashChar")
    case _: VarcharType => Some("hashVarchar")
    case s: StringType if s.supportsBinaryEquality => Some("hashString")
    case BinaryType => Some("hashBinary")
    case _: DecimalType => Some("hashDecimal")
    case TimestampType | TimestampNTZType => Some("hashTimestamp")
    case NullType => Some("")
    case _ => None
  }

  /** Java code for the hash of a variable that is not NULL. For a nested type it calls a `ValueHash`. */
  def code(version: Int, t: DataType, value: String, ctx: CodegenContext): String = method(t) match {
    case Some("") => "0"
    case Some(name) => s"${HiveHashCode.forVersion(version).getClass.getName.stripSuffix("$")}.$name($value)"
    case None => s"${ctx.addReferenceObj("hash", apply(version, t), classOf[ValueHash].getName)}.of($value)"
  }

  def apply(version: Int, t: DataType): ValueHash = {
    val hash = HiveHashCode.forVersion(version)
    t match {
      case BooleanType => (row, i) => hash.hashBoolean(row.getBoolean(i))
      case ByteType => (row, i) => hash.hashByte(row.getByte(i))
      case ShortType => (row, i) => hash.hashShort(row.getShort(i))
      case IntegerType | DateType => (row, i) => hash.hashInt(row.getInt(i))
      case LongType => (row, i) => hash.hashLong(row.getLong(i))
      case FloatType => (row, i) => hash.hashFloat(row.getFloat(i))
      case DoubleType => (row, i) => hash.hashDouble(row.getDouble(i))
      case _: CharType => (row, i) => hash.hashChar(row.getUTF8String(i))
      case _: VarcharType => (row, i) => hash.hashVarchar(row.getUTF8String(i))
      case _: StringType => (row, i) => hash.hashString(row.getUTF8String(i))
      case BinaryType => (row, i) => hash.hashBinary(row.getBinary(i))
      case d: DecimalType => (row, i) => hash.hashDecimal(row.getDecimal(i, d.precision, d.scale))
      case TimestampType | TimestampNTZType => (row, i) => hash.hashTimestamp(row.getLong(i))
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
