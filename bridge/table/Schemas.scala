package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.expressions.{FieldReference, NamedReference}
import org.apache.spark.sql.types._

/** Logical and physical schemas have the same shape; these walk both at once. */
object Schemas {
  /** A column, or a field of one by the names on the way to it. Spark's own methods would parse a text. */
  def reference(path: String*): NamedReference = FieldReference(path)

  /**
   * The fields by name, in any letter case. A query may have been resolved before a column was dropped, and
   * now find another column with its name.
   */
  private def fields(logical: StructType, physical: StructType): Map[String, (StructField, StructField)] =
    CaseInsensitiveMap(logical.fields.zip(physical.fields).map { case (l, p) => l.name -> (l, p) }.toMap)

  /** The physical form of a pruned logical type. */
  def physical(pruned: DataType, logical: DataType, phys: DataType): DataType = (pruned, logical, phys) match {
    case (w: StructType, l: StructType, p: StructType) =>
      val by = fields(l, p)
      StructType(w.fields.map { f =>
        val (lf, pf) = by(f.name)
        f.copy(name = pf.name, dataType = physical(f.dataType, lf.dataType, pf.dataType))
      })
    case (w: ArrayType, l: ArrayType, p: ArrayType) =>
      w.copy(elementType = physical(w.elementType, l.elementType, p.elementType))
    case (w: MapType, l: MapType, p: MapType) => w.copy(
      keyType = physical(w.keyType, l.keyType, p.keyType), valueType = physical(w.valueType, l.valueType, p.valueType))
    case (w, _, _) => w
  }

  def physicalPath(logical: DataType, phys: DataType, path: Seq[String]): Seq[String] = (logical, phys, path) match {
    case (l: StructType, p: StructType, head +: rest) =>
      val i = l.fieldNames.indexWhere(_.equalsIgnoreCase(head))
      if (i < 0) path else p.fields(i).name +: physicalPath(l.fields(i).dataType, p.fields(i).dataType, rest)
    case _ => path
  }
}
