package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, Expression, Literal, Rand, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{Limit, Project, Sort}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types.{DataType, LongType}

/**
 * Gives rows their keys on a Z-order curve: rows that are near in all of some columns have near keys.
 *
 * Each value becomes a rank among the quantiles of a sample, so types, units and skew do not matter: half of
 * the rows have the lower half of the ranks. The bits of the ranks are interleaved. Keys only say which rows
 * are written together. Nothing records them, and the order of keys is no order of a column.
 */
object CurveKeys {
  /** Rows of the sample: twenty for each rank. */
  private val SampledRows = 20000
  /** Bits of a rank. With two columns, a curve has a million places. */
  private val MaxBits = 10
  private val Seed = 7L

  /** Returns rows with their keys as one more column. It runs the query once, for the sample. */
  def add(data: DataFrame, columns: java.util.List[String], name: String): DataFrame = {
    val rows = data.asInstanceOf[Dataset[_]]
    val plan = rows.queryExecution.analyzed
    val fields = columns.asScala.toSeq.map(path => plan.resolveQuoted(path, (one, other) => one == other).get match {
      case Alias(of, _) => of
      case column => column
    })
    val values = Project(fields.zipWithIndex.map { case (field, at) => Alias(field, s"c$at")() }, plan)
    val shuffled = Sort(Seq(SortOrder(Rand(Literal(Seed), hideSeed = false), Ascending)), global = true, values)
    val execution = Dataset.ofRows(rows.sparkSession, Limit(Literal(SampledRows), shuffled)).queryExecution
    val sample = SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollect())
    val bits = MaxBits.min(62 / fields.length)
    val bounds = fields.zipWithIndex.map { case (field, at) =>
      val known = sample.toSeq.filterNot(_.isNullAt(at)).map(row => InternalRow.copyValue(row.get(at, field.dataType)))
      quantiles(known, field.dataType, (1 << bits) - 1)
    }
    Dataset.ofRows(rows.sparkSession, Project(plan.output :+ Alias(CurveKey(fields, bounds, bits), name)(), plan))
  }

  /** Values that divide the sample into parts of equal size, each once. */
  private def quantiles(values: Seq[Any], dataType: DataType, count: Int): Seq[Any] = {
    val order = TypeUtils.getInterpretedOrdering(dataType)
    val sorted = values.sorted(order).toIndexedSeq
    val chosen = (1 to count).filter(_ => sorted.nonEmpty).map(i => sorted((i.toLong * sorted.length / (count + 1)).toInt))
    chosen.headOption.toSeq ++ chosen.zip(chosen.drop(1)).collect { case (before, value) if order.lt(before, value) => value }
  }
}

/** The interleaved bits of the ranks of some values. A rank is the number of bounds not above the value. */
case class CurveKey(children: Seq[Expression], bounds: Seq[Seq[Any]], bits: Int) extends Expression with CodegenFallback {
  @transient private lazy val orders = children.map(child => TypeUtils.getInterpretedOrdering(child.dataType)).toArray
  @transient private lazy val limits = bounds.map(_.toArray).toArray

  override def nullable: Boolean = false
  override def dataType: DataType = LongType

  override def eval(row: InternalRow): Any = {
    var key = 0L
    var column = 0
    while (column < limits.length) {
      val value = children(column).eval(row)
      val rank = if (value == null) 0 else notAbove(value, column)
      var bit = 0
      while (bit < bits) {
        // the first column has the highest bit
        key |= ((rank >> bit) & 1).toLong << (bit * limits.length + limits.length - 1 - column)
        bit += 1
      }
      column += 1
    }
    key
  }

  private def notAbove(value: Any, column: Int): Int = {
    var low = 0
    var high = limits(column).length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (orders(column).lteq(limits(column)(middle), value)) low = middle + 1 else high = middle
    }
    low
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): CurveKey = copy(children = newChildren)
}
