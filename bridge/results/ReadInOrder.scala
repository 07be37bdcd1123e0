package org.apache.spark.sql.parquetry.results

import org.apache.spark.rdd.{PartitionPruningRDD, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Partial}
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FilterExec, GenerateExec, ProjectExec, SparkPlan, TakeOrderedAndProjectExec, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.parquetry.protocol.Json
import org.apache.spark.sql.parquetry.scan.ParquetryScan

/**
 * Has a top-k, a `max`, `min`, `max_by` or `min_by` read files in the order of their bounds, and stop when
 * no other file can have a better row.
 *
 * For `WHERE x = 7 ORDER BY ts DESC LIMIT 100`, statistics may not tell which rows match. But once there are
 * 100 rows, a file whose greatest `ts` is less than the least of them need not be read. Joins with a
 * broadcast side may stand between: what counts are the rows that come out of each task.
 */
object ReadInOrder extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case top: TakeOrderedAndProjectExec if isInOrder(top.child, top.limit) =>
      top.withNewChildren(Seq(FirstRowsExec(top.limit, top.sortOrder, top.child)))
    case exchange: ShuffleExchangeExec => exchange.child match {
      case partial: BaseAggregateExec if partial.groupingExpressions.isEmpty && isInOrder(partial.child, 1) =>
        order(partial.aggregateExpressions).fold[SparkPlan](exchange) { key =>
          val position = Extremes.position(partial.aggregateExpressions.head.aggregateFunction)
          exchange.withNewChildren(Seq(ExtremeExec(key, position, partial)))
        }
      case _ => exchange
    }
  }

  /** The order whose first value is the minimum or maximum that an aggregate computes, or None. */
  private def order(functions: Seq[AggregateExpression]): Option[SortOrder] =
    if (functions.forall(e => e.mode == Partial && e.filter.isEmpty)) Extremes.order(functions.map(_.aggregateFunction)) else None

  /** The scan of a plan whose rows each come from one row of it, in the same task. */
  private def scanOf(plan: SparkPlan): Option[BatchScanExec] = plan match {
    case project: ProjectExec => scanOf(project.child)
    case filter: FilterExec => scanOf(filter.child)
    case generate: GenerateExec => scanOf(generate.child)
    case join: BroadcastHashJoinExec => scanOf(Waves.streamed(join))
    case scan: BatchScanExec if scan.runtimeFilters.isEmpty => Some(scan)
    case _ => None
  }

  private def isInOrder(plan: SparkPlan, limit: Int): Boolean = scanOf(plan).map(_.scan).exists {
    case scan: ParquetryScan => PruneByLimit.rowsInOrder(scan).contains(limit) && scan.bestValues.exists(_.length > 1)
    case _ => false
  }
}

/**
 * Runs some tasks of a plan in waves, by ascending best values of their files, as long as others can have a
 * better value.
 */
private[results] object Waves {
  /** For each task of a plan, the best value of the sort key in its files, or None if it is not known. */
  def bestValues(plan: SparkPlan, key: SortOrder): Option[Seq[Option[Any]]] =
    scanOf(plan).map(_.scan).flatMap {
      case scan: ParquetryScan => scan.bestValues.map(_.map(_.map(Json.toValue(_, key.dataType))))
      case _ => None
    }

  /** The scan of a plan that `ReadInOrder` has chosen, below the nodes that Spark has put in since. */
  private def scanOf(plan: SparkPlan): Option[BatchScanExec] = plan match {
    case scan: BatchScanExec => Some(scan)
    case join: BroadcastHashJoinExec => scanOf(streamed(join))
    case other => if (other.children.length == 1) scanOf(other.children.head) else None
  }

  /** The side of a join that is not broadcast. */
  def streamed(join: BroadcastHashJoinExec): SparkPlan = join.buildSide match {
    case BuildLeft => join.right
    case BuildRight => join.left
  }

  /**
   * @param plan the plan
   * @param values the best values of all its tasks
   * @param ties whether a task is needed that has no better value than the last one, but an equal one
   * @param run runs some tasks, and returns the last value that the query needs of the rows so far, or None
   *   if it needs more rows
   */
  def run(plan: SparkPlan, values: Seq[Option[Any]], key: SortOrder, ties: Boolean)(run: Seq[Int] => Option[Any]): Unit =
    scanOf(plan).map(_.scan).foreach { case scan: ParquetryScan =>
      scan.later.synchronized(inWaves(values, key, ties) { (tasks, last) =>
        scan.needOnly(tasks, key.direction == Descending, last)
        run(tasks)
      })
    }

  private def inWaves(values: Seq[Option[Any]], key: SortOrder, ties: Boolean)(run: (Seq[Int], Option[Any]) => Option[Any]): Unit = {
    val order = new InterpretedOrdering(
      Seq(SortOrder(BoundReference(0, key.dataType, nullable = true), key.direction, key.nullOrdering, Nil)))
    var waiting: Seq[Int] = values.indices
    var width = 1
    var last = Option.empty[Any]
    while (waiting.nonEmpty) {
      // where the rows so far exclude almost nothing, more waves only cost time
      val isUseful = last.isEmpty || waiting.length * 10 < values.length * 9
      val (wave, others) = if (isUseful) waiting.splitAt(width) else (waiting, Nil)
      last = run(wave, last)
      waiting = last.fold(others)(value => others.filter(task => values(task).forall { best =>
        val compared = order.compare(InternalRow(best), InternalRow(value))
        compared < 0 || (compared == 0 && ties)
      }))
      width *= 2
    }
  }
}

/**
 * The first rows of an order. Tasks whose files cannot have one of them do not run.
 *
 * @param limit number of rows
 */
case class FirstRowsExec(limit: Int, sortOrder: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = SinglePartition
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    Waves.bestValues(child, sortOrder.head).filter(_.length == rows.partitions.length).fold(rows) { values =>
      val unsafe = UnsafeProjection.create(output, output)
      sparkContext.parallelize(first(rows.mapPartitionsInternal(_.map(_.copy())), values).map(row => unsafe(row).copy(): InternalRow).toSeq, 1)
    }
  }

  private def first(rows: RDD[InternalRow], values: Seq[Option[Any]]): Array[InternalRow] = {
    val ordering = new LazilyGeneratedOrdering(sortOrder, child.output)
    val key = BindReferences.bindReference(sortOrder.head.child, child.output)
    var found = Array.empty[InternalRow]
    Waves.run(child, values, sortOrder.head, ties = sortOrder.length > 1) { tasks =>
      val next = PartitionPruningRDD.create(rows, tasks.toSet).takeOrdered(limit)(ordering)
      found = (found ++ next).sorted(ordering).take(limit)
      Option.when(found.length == limit)(key.eval(found.last))
    }
    found
  }
}

/**
 * The minimum or maximum in each task's rows. Tasks whose files cannot have a better one do not run.
 *
 * @param key the order whose first value is wanted
 * @param position of the extreme among the child's columns
 * @param child gives one row for each task
 */
case class ExtremeExec(key: SortOrder, position: Int, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    Waves.bestValues(child, key).filter(_.length == rows.partitions.length).fold(rows) { values =>
      val order = new InterpretedOrdering(
        Seq(SortOrder(BoundReference(position, key.dataType, nullable = true), key.direction, key.nullOrdering, Nil)))
      var found = Seq.empty[InternalRow]
      Waves.run(child, values, key, ties = false) { tasks =>
        found ++= PartitionPruningRDD.create(rows, tasks.toSet).mapPartitionsInternal(_.map(_.copy())).collect()
        Option(found.min(order).get(position, key.dataType))
      }
      sparkContext.parallelize(found, 1)
    }
  }
}
