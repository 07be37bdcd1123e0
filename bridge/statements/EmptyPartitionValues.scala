package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/**
 * Refuses the empty text in `PARTITION (day = '')`, as Spark does for its own tables and as Hive does. No
 * directory can be named for it, so that it would mean the partition of NULL: a variable of a script that is
 * not set would then replace the rows there.
 */
object EmptyPartitionValues {
  /** @param isOurs whether a table's name is one of a catalog of ours */
  def refuse(plan: LogicalPlan, isOurs: Seq[String] => Boolean): Unit = plan.foreach {
    case i: InsertIntoStatement => refuse(i.table, i.partitionSpec.collect { case (name, Some("")) => name }, isOurs)
    case a: AnalyzeTable => refuse(a.child, a.partitionSpec.collect { case (name, Some("")) => name }, isOurs)
    case s: SetTableLocation => refuse(s.table, s.partitionSpec.toSeq.flatMap(empty), isOurs)
    case l: LoadData => refuse(l.child, l.partition.toSeq.flatMap(empty), isOurs)
    case other =>
      val names = other.expressions.collect { case spec: UnresolvedPartitionSpec => empty(spec.spec) }.flatten
      if (names.nonEmpty) other.children.foreach(refuse(_, names, isOurs))
  }

  private def empty(spec: Map[String, String]): Iterable[String] = spec.collect { case (name, "") => name }

  private def refuse(table: LogicalPlan, columns: Iterable[String], isOurs: Seq[String] => Boolean): Unit = {
    val parts = table match {
      case t: UnresolvedTable => t.multipartIdentifier
      case t: UnresolvedTableOrView => t.multipartIdentifier
      case r: UnresolvedRelation => r.multipartIdentifier
      case _ => Nil
    }
    for (column <- columns.headOption if parts.nonEmpty && isOurs(parts)) throw new ParquetryException("UNSUPPORTED",
      s"Table ${parts.mkString(".")}: PARTITION ($column = '') has an empty value, which no directory can be named for. " +
        s"Say PARTITION ($column = NULL) if the partition of NULL is meant.")
  }
}
