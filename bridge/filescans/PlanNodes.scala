package org.apache.spark.sql.parquetry.filescans

import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}

/** All nodes of a physical plan as it is now, each once; subqueries and reused exchanges have nodes, too. */
object PlanNodes {
  def apply(plan: SparkPlan): Seq[SparkPlan] = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val found = mutable.ArrayBuffer.empty[SparkPlan]
    def visit(plan: SparkPlan): Unit = if (seen.add(plan)) {
      found += plan
      (plan match {
        case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
        case stage: QueryStageExec => Seq(stage.plan)
        case other => other.children
      }).foreach(visit)
      plan.subqueries.foreach(visit)
    }
    visit(plan)
    found.toSeq
  }
}
