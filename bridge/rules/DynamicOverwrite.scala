package org.apache.spark.sql.parquetry

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark refuses a V1 write for dynamic overwrites; it becomes an append with a mode of our own. */
object DynamicOverwrite extends Rule[LogicalPlan] {
  val option = "parquetry.overwrite-partitions"

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case o @ OverwritePartitionsDynamic(r: DataSourceV2Relation, query, options, byName, evolves, None)
        if o.resolved && r.table.isInstanceOf[ParquetryTable] =>
      val marked = options ++ r.options.asCaseSensitiveMap().asScala + (option -> "true")
      // statement and relation each carry options or none; Spark refuses two that differ
      val relation = if (r.options.isEmpty) r else r.copy(options = new CaseInsensitiveStringMap(marked.asJava))
      AppendData(relation, query, marked, byName, evolves, None, None)
  }
}
