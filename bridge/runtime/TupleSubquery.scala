package org.apache.spark.sql.parquetry.runtime

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Strategy}
import org.apache.spark.sql.parquetry.filescans.FilesOfValues
import org.apache.spark.sql.parquetry.joingraph.{KeyTuple, TupleColumn}
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{PruningSubquery, ScanRelation}

/**
 * Has Spark take the values of all keys of a `KeyTuple`. The other keys are added only now, while Spark plans
 * the scan: it would not optimize a filter that names several keys.
 */
case class TupleStrategy(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case other if !other.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY) => Nil // the next line costs more
    case PhysicalOperation(_, filters, ScanRelation(_, _: ParquetryScan, _, _, _))
        if filters.exists(_.exists(_.isInstanceOf[KeyTuple])) =>
      new DataSourceV2Strategy(session.asInstanceOf[ClassicSession])(plan).map(_.transform {
        case scan: BatchScanExec => scan.copy(runtimeFilters = scan.runtimeFilters.map(_.transform {
          case found: DynamicPruningSubquery => found.pruningKey match {
            case tuple: KeyTuple => PruningSubquery.withPlaces(found, tuple.places)
            case _ => found
          }
        }))
      })
    case _ => Nil
  }
}

/** Gives the values of a `KeyTuple` to its scan as rows of the scan's columns. */
object PlanTupleSubqueries extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case scan: BatchScanExec if scan.runtimeFilters.exists(_.exists(_.isInstanceOf[KeyTuple])) =>
      val changed = scan.copy(runtimeFilters = scan.runtimeFilters.map(tupled))
      changed.copyTagsFrom(scan)
      changed
  }.transformAllExpressions { case found: FilesOfValues if found.exists(_.isInstanceOf[KeyTuple]) => found.mapFilters(tupled) }

  private def tupled(filter: Expression): Expression = filter.transform {
    case in @ InSubqueryExec(tuple: KeyTuple, values, _, _, _, _) if values.output.length == tuple.keys.length =>
      in.copy(child = tuple.value, plan = TupleSubquery(in.plan, tuple.columns))
  }
}

/**
 * Combines the values of several keys into one value, a row of a scan's columns.
 *
 * @param child gives the values of the keys
 */
case class TupleSubquery(child: SparkPlan, columns: Seq[TupleColumn]) extends BaseSubqueryExec with UnaryExecNode {
  private def subquery: BaseSubqueryExec = child.asInstanceOf[BaseSubqueryExec]
  override def name: String = subquery.name
  override def stringArgs: Iterator[Any] = Iterator(name, KeyTuple.text(columns.map(_.name)))
  override lazy val output: Seq[Attribute] =
    Seq(AttributeReference(KeyTuple.text(columns.map(_.name)), KeyTuple.struct(columns))())

  override def executeCollect(): Array[InternalRow] = {
    val rows = subquery.executeCollect()
    // the row that stands for unavailable values has no keys
    if (rows.exists(_.numFields < child.output.length)) rows else rows.flatMap { row =>
      val values = columns.map(_.of(row))
      Option.when(values.forall(_.isDefined))(InternalRow(InternalRow.fromSeq(values.map(_.get))))
    }
  }

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("a subquery's rows are collected")
  override protected def doCanonicalize(): SparkPlan = TupleSubquery(child.canonicalized, columns)
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}
