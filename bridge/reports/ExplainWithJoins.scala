package org.apache.spark.sql.parquetry.reports

import scala.util.Try

import org.json4s._

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CodegenMode, CommandExecutionMode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.{ExecutedCommandExec, ExplainCommand, LeafRunnableCommand}
import org.apache.spark.sql.parquetry.protocol.{Bridge, Json}

/**
 * EXPLAIN with a line for each join of our tables: how many sides are shuffled and sorted, which hot buckets
 * and heavy keys are split, and why not more. The planner makes the lines, which a report has, too.
 */
case class ExplainWithJoins(explain: ExplainCommand) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = explain.output

  override def run(session: SparkSession): Seq[Row] = explain.run(session) match {
    case Seq(Row(text: String)) => lines(session.asInstanceOf[ClassicSession]) match {
      case Nil => Seq(Row(text))
      case some => Seq(Row(s"${text.stripTrailing()}\n\n== Joins ==\n${some.mkString("\n")}\n"))
    }
    case other => other
  }

  private def lines(session: ClassicSession): Seq[String] = {
    val query = session.sessionState.executePlan(explain.logicalPlan, CommandExecutionMode.SKIP)
    if (Try(query.optimizedPlan).isFailure) Nil // the text above has the error
    else {
      val facts = QueryFacts.of(query, "planned", _ => false)
      if (facts.joins.isEmpty && facts.splits.isEmpty) Nil
      else Bridge.explainJoins("joins" -> JArray(facts.joins.toList), "heavy_keys" -> JArray(facts.splits.toList),
        "settings" -> Json.strings(Bridge.terms.joinSettings.flatMap(name => session.conf.getOption(name).map(name -> _)).toMap))
    }
  }
}

/** Plans EXPLAIN as `ExplainWithJoins`. */
object ExplainStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case explain: ExplainCommand if explain.mode != CodegenMode => Seq(ExecutedCommandExec(ExplainWithJoins(explain)))
    case _ => Nil
  }
}
