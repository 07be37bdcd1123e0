package org.apache.spark.sql.parquetry.filescans

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike}

/**
 * Makes one broadcast of a broadcast of a broadcast, which no node can execute.
 *
 * Adaptive execution prepares the plan of a subquery twice: alone, and with its broadcast. In between, its
 * scans have become Spark's own. The second time Spark removes projections that their rows needed. Then a key
 * may be known not to be NULL, its broadcast is another one to Spark, and it broadcasts what is broadcast.
 */
object BroadcastOnce extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case outer @ BroadcastExchangeExec(_, inner: BroadcastExchangeLike) => outer.withNewChildren(inner.children)
  }
}
