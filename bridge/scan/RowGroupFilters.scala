package org.apache.spark.sql.parquetry

import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{And, Not, Or, Predicate}

/** Which predicates the file readers may use on row groups, under the names that the files use. */
object RowGroupFilters {
  import org.apache.spark.sql.connector.expressions.{Expressions, LiteralValue}
  import org.apache.spark.sql.internal.connector.PredicateUtils
  import org.apache.spark.sql.sources
  import org.apache.spark.sql.types.{BooleanType, DataType, DoubleType, FloatType}

  def apply(predicates: Array[Predicate], table: ParquetryTable): Array[sources.Filter] = predicates.flatMap(filter(_, table))

  /**
   * What a predicate implies, in the readers' words; under a NOT its whole or nothing. (Spark 4.3.0's `toV1` drops
   * the side of an OR that it cannot translate.)
   */
  private def filter(p: Predicate, table: ParquetryTable, whole: Boolean = false): Option[sources.Filter] = p match {
    case a: And => (filter(a.left, table, whole), filter(a.right, table, whole)) match {
      case (Some(l), Some(r)) => Some(sources.And(l, r))
      case (l, r) => if (whole) None else l.orElse(r)
    }
    case o: Or => for (l <- filter(o.left, table, whole); r <- filter(o.right, table, whole)) yield sources.Or(l, r)
    case n: Not =>
      if (touchesFloat(n, table) || losesNulls(n, table)) None
      else filter(n.child, table, whole = true).map(sources.Not(_))
    case leaf if onPartitions(leaf, table) => None
    case leaf if sound(leaf, table) => PredicateUtils.toV1(new Predicate(leaf.name, leaf.children.map(renamed(_, table))))
    case _ => None
  }

  /** Files may hold a partition column, too, with any values; readers without it in their schema take it for NULLs. */
  private def onPartitions(leaf: Predicate, table: ParquetryTable): Boolean =
    leaf.references.exists(r => table.partitionColumns.exists(_.equalsIgnoreCase(r.fieldNames.head)))

  /**
   * Row group statistics and dictionaries tell -0.0 from 0.0 and pass over NaN; SQL holds the zeros equal and
   * NaN the greatest. So on floats only `=`, `<`, `<=` and IN with literals that are neither may be used, and
   * nothing under a NOT. (Spark 4.3.0 loses rows on `f = 0.0`.)
   */
  private def sound(leaf: Predicate, table: ParquetryTable): Boolean = {
    val literals = leaf.children.collect { case l: Literal[_] => l.value }
    !literals.contains(null) && // Spark's reader of ORC fails on it
      !(leaf.name == "IS_NULL" && losesNulls(leaf, table)) &&
      (!leaf.children.exists(touchesFloat(_, table)) ||
        Set("=", "<", "<=", "IN", "IS_NULL", "IS_NOT_NULL").contains(leaf.name) &&
          leaf.children.head.isInstanceOf[NamedReference] && // the other way round, `<` means `>`
          literals.forall {
            case d: Double => d != 0.0 && !d.isNaN
            case f: Float => f != 0.0f && !f.isNaN
            case _ => false
          })
  }

  /** ORC's statistics of a field within a struct count no NULL where the struct itself is. (Spark 4.3.0 loses rows.) */
  private def losesNulls(e: Expression, table: ParquetryTable): Boolean = table.format == "orc" && (e match {
    case r: NamedReference => r.fieldNames.length > 1
    case other => other.children.exists(losesNulls(_, table))
  })

  private def touchesFloat(e: Expression, table: ParquetryTable): Boolean = e match {
    case l: Literal[_] => isFloat(l.dataType)
    case r: NamedReference => table.logical.findNestedField(r.fieldNames.toSeq).forall { case (_, f) => isFloat(f.dataType) }
    case other => other.children.exists(touchesFloat(_, table))
  }
  private def isFloat(t: DataType): Boolean = t == DoubleType || t == FloatType

  private def renamed(e: Expression, table: ParquetryTable): Expression = e match {
    case r: NamedReference => Expressions.column(
      Schemas.physicalPath(table.logical, table.physical, r.fieldNames.toSeq).map(quoted).mkString("."))
    case l: Literal[_] if l.dataType == BooleanType => LiteralValue(l.value, BooleanType) // it may be a predicate, too
    case other => other
  }
  private def quoted(part: String): String = s"`${part.replace("`", "``")}`"
}
