package org.apache.spark.sql.parquetry.predicates

import scala.collection.mutable

import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.connector.expressions.{Expression, GeneralScalarExpression, Literal, LiteralValue, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.internal.connector.PredicateUtils
import org.apache.spark.sql.sources
import org.apache.spark.sql.parquetry.protocol.{FoundRanges, Json, RowGroupPart}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate, Schemas}
import org.apache.spark.sql.types.{BooleanType, DataType, DateType, StringType, StructType, TimestampType, VarcharType}

/**
 * Translates the predicates that readers may apply to row groups to the readers' form, with columns' names in
 * files.
 */
object RowGroupFilters {
  def apply(pushed: Seq[PushedPredicate], table: ParquetryTable): Array[sources.Filter] =
    pushed.flatMap(p => p.rowGroups.flatMap(filter(_, leaves(p.predicate), table))).toArray

  /** The readers' filters for ranges of needed values. */
  def fromRanges(ranges: Seq[FoundRanges], table: ParquetryTable): Array[sources.Filter] = ranges.flatMap { range =>
    val path = FieldPath.parts(range.column)
    val column = Schemas.reference(path: _*)
    val dataType = path.foldLeft[DataType](table.logical)((struct, name) => struct.asInstanceOf[StructType](name).dataType) match {
      case _: VarcharType => StringType // Spark would refuse a join's values that are too long for the column
      case other => other
    }
    def compared(op: String, values: String*) =
      leaf(new Predicate(op, (column +: values.map(v => LiteralValue(Json.toValue(v, dataType), dataType))).toArray[Expression]), table)
    val parts = range.ends.map {
      case Seq(least, greatest) if least == greatest => compared("=", least)
      case Seq(least, null) => compared(">=", least)
      case Seq(null, greatest) => compared("<=", greatest)
      case Seq(least, greatest) => for (l <- compared(">=", least); g <- compared("<=", greatest)) yield sources.And(l, g)
    }
    val between = if (parts.exists(_.isEmpty)) None else Some(joined("OR", parts.flatten))
    // Each filter is valid alone: a file's reader ignores one that it has no form for.
    between ++ Option.when(range.values.nonEmpty)(compared("IN", range.values: _*)).flatten
  }.toArray

  /**
   * Returns None if any leaf has no form for readers. Spark 4.3.0's own translation drops only one side of
   * such an OR.
   */
  private def filter(part: RowGroupPart, leaves: IndexedSeq[Expression], table: ParquetryTable): Option[sources.Filter] =
    part match {
      case RowGroupPart(Some(number), _, _) => leaf(leaves(number.toInt), table)
      case RowGroupPart(_, function, parts) =>
        val filters = parts.map(filter(_, leaves, table))
        if (filters.exists(_.isEmpty)) None else Some(joined(function.get, filters.flatten))
    }

  private def joined(function: String, parts: Seq[sources.Filter]): sources.Filter = function match {
    case "AND" => BalancedChains.balanced[sources.Filter](parts, sources.And(_, _), sources.AlwaysTrue)
    case "OR" => BalancedChains.balanced[sources.Filter](parts, sources.Or(_, _), sources.AlwaysFalse)
    case "NOT" => sources.Not(parts.head)
  }

  private def leaf(e: Expression, table: ParquetryTable): Option[sources.Filter] = e match {
    case p: Predicate if !p.children.exists(isChanged) => PredicateUtils.toV1(new Predicate(p.name, p.children.map(renamed(_, table))))
    case _ => None
  }

  /**
   * Whether readers would be given another date or time. Java's calendar for them has no 5 to 14 October
   * 1582, and Parquet's files may have these days.
   */
  private def isChanged(e: Expression): Boolean = e match {
    case l: Literal[_] => (l.dataType, l.value) match {
      case (DateType, days: Int) => days < SafeDays && DateTimeUtils.fromJavaDate(DateTimeUtils.toJavaDate(days)) != days
      case (TimestampType, micros: Long) =>
        micros < SafeMicros && DateTimeUtils.fromJavaTimestamp(DateTimeUtils.toJavaTimestamp(micros)) != micros
      case _ => false
    }
    case _ => false
  }
  private val SafeDays = -25567 // 1900-01-01
  private val SafeMicros = SafeDays * 86400000000L

  /** The leaves below ANDs, ORs and NOTs, from the left: the planner names a leaf by its index. */
  private def leaves(predicate: Predicate): IndexedSeq[Expression] = {
    val found = IndexedSeq.newBuilder[Expression]
    val waiting = mutable.Stack[Expression](predicate)
    while (waiting.nonEmpty) waiting.pop() match {
      case g: GeneralScalarExpression if Set("AND", "OR", "NOT").contains(g.name) => waiting.pushAll(g.children.reverse)
      case other => found += other
    }
    found.result()
  }

  private def renamed(e: Expression, table: ParquetryTable): Expression = e match {
    case r: NamedReference => Schemas.reference(Schemas.physicalPath(table.logical, table.physical, r.fieldNames.toSeq): _*)
    case l: Literal[_] if l.dataType == BooleanType => LiteralValue(l.value, BooleanType) // it may be a predicate, too
    case other => other
  }
}
