package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.types._

/**
 * Removes conditions on floats from Spark's pruning of cached batches; they are still applied to rows. The
 * minimum and maximum of a cached batch ignore NaN, so Spark 4.3.0 loses rows with NaN under `f > x`.
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
