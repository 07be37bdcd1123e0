package org.apache.spark.sql.parquetry.datafiles

import org.apache.spark.rdd.{PartitionCoalescer, PartitionGroup, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * Runs at most `tasks` tasks, each with the work of consecutive tasks of the child. Spark's `CoalesceExec`
 * groups tasks by machine instead: if the tasks are in the order of a sort, a file would hold rows from all
 * over it.
 */
case class TasksInOrderExec(tasks: Int, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def doExecute(): RDD[InternalRow] = child.execute().coalesce(tasks, shuffle = false, Some(TasksInOrder))
  override protected def withNewChildInternal(newChild: SparkPlan): TasksInOrderExec = copy(child = newChild)
}

object TasksInOrder extends PartitionCoalescer with Serializable {
  override def coalesce(most: Int, parent: RDD[_]): Array[PartitionGroup] = {
    val parts = parent.partitions
    val count = most.min(parts.length)
    def first(group: Int): Int = (group.toLong * parts.length / count).toInt
    Array.tabulate(count) { number =>
      val group = new PartitionGroup()
      group.partitions ++= parts.slice(first(number), first(number + 1))
      group
    }
  }
}
