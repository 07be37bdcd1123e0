package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.types._

/**
 * Cached batches keep a minimum and maximum that pass over NaN, and Spark 4.3.0 prunes by them: rows with NaN
 * are lost under `f > x`. Conditions on floats are taken out of the pruning; they are still applied to rows.
 */
object DisableFloatCachePruning extends Rule[SparkPlan] {
  private def onFloat(e: Expression): Boolean = e.references.exists(_.dataType.existsRecursively {
    case DoubleType | FloatType => true
    case _ => false
  })

  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case scan: InMemoryTableScanExec if scan.predicates.exists(onFloat) =>
      scan.copy(predicates = scan.predicates.filterNot(onFloat))
  }
}
