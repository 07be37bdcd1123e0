package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.parquetry.joingraph.LogicalNames

/** Why rows of a scan are no longer where it read them. */
sealed trait Lost

object Lost {
  /** @param isAsked whether the query itself repartitions its rows */
  case class Shuffle(isAsked: Boolean) extends Lost
  /** Some rows are shuffled to the buckets that the others are in. */
  case object Rest extends Lost
  /** A node that combines several inputs or partitions, in words. */
  case class Through(node: String) extends Lost
  case class Other(node: String) extends Lost

  /** The loss by a join between a side of another join and its scans. */
  def through(joinType: JoinType): Through = Through(LogicalNames.of(joinType) match {
    case "EXISTS" => "EXISTS or IN beside OR"
    case name => s"$name JOIN"
  })

  /**
   * Why the rows of a physical plan are not where its scans have read them, from the scans up. A join ends
   * the way: what is below belongs to that join. Of a scan in two parts, it is the part in buckets.
   */
  def below(plan: SparkPlan): Seq[Lost] = {
    val inputs = Movement.inputs(plan)
    Movement.of(plan) match {
      case Movement.Joins(joinType, _, _) => Seq(through(joinType))
      case Movement.Completes => below(inputs.head) :+ Rest
      case Movement.Unites => inputs.flatMap(below) :+ Through("UNION")
      case Movement.Moves(why) => inputs.flatMap(below) :+ why
      case _ => inputs.flatMap(below)
    }
  }
}
