package org.apache.spark.sql.parquetry.audit

import scala.util.control.NonFatal

import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * Checks where the rows of its child are, and gives them on. It stops at the first row that is elsewhere. For
 * Spark it is what its child is.
 *
 * @param tables the tables that the rows come from, for the message
 */
case class CheckedRowsExec(claims: Seq[RowClaim], tables: String, child: SparkPlan) extends UnaryExecNode {
  override def nodeName: String = "CheckedRows"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def simpleString(maxFields: Int): String = s"$nodeName $claim"

  /** The claims in words. */
  def claim: String = claims.map(each => s"rows of $tables are ${each.text}").mkString("; ")

  override lazy val metrics: Map[String, SQLMetric] = Map("rows" -> SQLMetrics.createMetric(sparkContext, "rows checked"))

  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, each, columns, of, node) = (longMetric("rows"), claims, child.output, tables, child.nodeName)
    child.execute().mapPartitionsWithIndexInternal { (partition, iterator) =>
      val checks = each.map(_.check(partition, columns)).toArray
      iterator.map { row =>
        rows += 1
        var i = 0
        while (i < checks.length) {
          checks(i)(row).foreach(found => throw CheckedRowsExec.failure(of, node, found))
          i += 1
        }
        row
      }
    }
  }

  /** Equal to others with an equal child: the claims follow from it. So Spark reuses exchanges. */
  override protected def doCanonicalize(): SparkPlan = CheckedRowsExec(Nil, "", child.canonicalized)
  override protected def withNewChildInternal(newChild: SparkPlan): CheckedRowsExec = copy(child = newChild)
}

object CheckedRowsExec {
  private val beginning = "Spark was told that rows of"

  private def failure(tables: String, node: String, found: String): ParquetryException = {
    val path = InputFileBlockHolder.getInputFilePath.toString
    val file = if (path.isEmpty) "" else s" It is in file $path."
    new ParquetryException("AUDIT", s"$beginning $tables are $found.$file The claim is of the node $node. " +
      "Run CALL system.verify for the table, and report the plan of the query if that finds nothing.", "XX000")
  }

  /** Raises the failure of a check as it is, and not as the cause of a subquery's failure. */
  private[audit] def unwrapped[T](body: => T): T = try body catch { case NonFatal(e) => throw failureIn(e).getOrElse(e) }

  /** Whether a check in a task made a query fail: such a failure is counted when the query ends. */
  def isCauseOf(error: Throwable): Boolean = failureIn(error).exists(_.getMessage.contains(beginning))

  private def failureIn(error: Throwable): Option[ParquetryException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(MAX_CAUSES).collectFirst {
      case failed: ParquetryException if failed.code == "AUDIT" => failed
    }
  private final val MAX_CAUSES = 20
}
