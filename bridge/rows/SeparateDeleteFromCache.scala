package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Keeps the table of a DELETE apart from cached data. Spark replaces every table that is cached, the target
 * of a DELETE included, which then has no table. An option that no query has makes the two unequal.
 */
object SeparateDeleteFromCache extends Rule[LogicalPlan] {
  private val option = "parquetry.delete"

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d: DeleteFromTable => d.copy(table = d.table.resolveOperators {
      case r @ TableRelation(_: ParquetryTable) if !r.options.containsKey(option) =>
        val options = new java.util.HashMap[String, String](r.options.asCaseSensitiveMap())
        options.put(option, "true")
        r.copy(options = new CaseInsensitiveStringMap(options))
    })
    case _ => plan
  }
}
