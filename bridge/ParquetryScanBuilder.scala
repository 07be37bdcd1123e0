package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.expressions.filter.{And, Not, Or, Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.PartitionPredicateImpl
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Collects what a query asks of one table; the planner says what each part is good for. */
class ParquetryScanBuilder(table: ParquetryTable, options: CaseInsensitiveStringMap)
  extends ScanBuilder with SupportsPushDownV2Filters with SupportsPushDownRequiredColumns
  with SupportsPushDownAggregates {

  private var pushed = Seq.empty[PushedPredicate]
  private var required = table.logical
  private var aggregate: Option[JValue] = None

  private def ask(op: String, fields: JField*): JValue =
    table.ref.ask(op, table.identity ++ Seq[JField]("predicates" -> JArray(pushed.map(_.tree).toList)) ++ fields: _*)

  /**
   * Hands back the predicates that Spark has to evaluate on every row. Spark calls twice: what was handed back and is
   * about partition columns alone comes again, in a form that can be evaluated over the partitions' values.
   */
  override def supportsIterativePushdown(): Boolean = true
  override def pushPredicates(offered: Array[Predicate]): Array[Predicate] = {
    val again = offered.collect { case p: PartitionPredicateImpl => p }
    val judged = if (again.isEmpty) table.judge(offered.toSeq) else PartitionConditions.evaluate(table, pushed.map(_.tree), again.toSeq)
    pushed = (if (again.isEmpty) pushed else pushed.filterNot(_.again)) ++ judged
    judged.filterNot(_.exact).map(_.predicate).toArray
  }
  /** Spark does not offer again what it is told was pushed. */
  override def pushedPredicates(): Array[Predicate] = pushed.filterNot(_.again).map(_.predicate).toArray

  override def supportCompletePushDown(aggregation: Aggregation): Boolean = {
    if (aggregate.isEmpty) aggregate = answered(aggregation)
    aggregate.isDefined
  }
  override def pushAggregation(aggregation: Aggregation): Boolean = supportCompletePushDown(aggregation)

  private def answered(aggregation: Aggregation): Option[JValue] = {
    def column(e: Expression): Option[String] = e match {
      case r: NamedReference if r.fieldNames.length == 1 => Some(r.fieldNames.head)
      case _ => None
    }
    def asked(function: String, e: Expression): Option[JValue] =
      column(e).map(c => JObject("function" -> JString(function), "column" -> JString(c)))
    val functions = aggregation.aggregateExpressions().map {
      case _: CountStar => Some(JObject("function" -> JString("count"), "column" -> JNull))
      case c: Count if !c.isDistinct => c.column() match {
        case l: Literal[_] if l.value != null => Some(JObject("function" -> JString("count"), "column" -> JNull))
        case e => asked("count", e)
      }
      case m: Min => asked("min", m.column())
      case m: Max => asked("max", m.column())
      case _ => None
    }
    val groups = aggregation.groupByExpressions().map(column)
    if (functions.exists(_.isEmpty) || groups.exists(_.isEmpty) || !pushed.forall(_.exact)) return None
    ask("aggregate", "functions" -> JArray(functions.flatten.toList), "group_by" -> Json.strings(groups.flatten)) match {
      case answer: JObject => Some(answer)
      case _ => None
    }
  }

  override def pruneColumns(schema: StructType): Unit = required = schema

  override def build(): Scan = aggregate match {
    case Some(answer) => new MetadataScan(table, answer)
    case None => new ParquetryScan(table, pushed, required, options)
  }
}

/**
 * A predicate as the planner was told it.
 *
 * @param exact whether Spark need not evaluate it on every row
 * @param again whether it is about partition columns alone and was not understood: Spark offers it once more
 */
case class PushedPredicate(predicate: Predicate, tree: JValue, exact: Boolean, again: Boolean = false)

/** `count(*)`, `min` and `max` that the metastore answered alone. */
class MetadataScan(table: ParquetryTable, answer: JValue)
  extends RowsScan(Json.struct(answer \ "schema"), answer \ "rows", Json.text(answer \ "description")) with Reported {
  override def report: JValue = answer \ "report"
}

/** A scan that can say what it left out, and why. */
trait Reported { def report: JValue }

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

/** Logical and physical schemas have the same shape; these walk both at once. */
object Schemas {
  import org.apache.spark.sql.types._

  private def fields(logical: StructType, physical: StructType): Map[String, (StructField, StructField)] =
    logical.fields.zip(physical.fields).map { case (l, p) => l.name -> (l, p) }.toMap

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
