package org.apache.spark.sql.parquetry

import org.json4s._

import org.apache.spark.sql.{Row, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

/** `spark.sql.extensions` names this class. */
class ParquetryExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPostHocResolutionRule(_ => DynamicOverwrite)
    extensions.injectPostHocResolutionRule(_ => RepairStatement)
    extensions.injectQueryStagePrepRule(_ => CachePruning)
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = CachePruning })
  }
}

/** Spark refuses a V1 write for dynamic overwrites; it becomes an append with a mode of our own. */
object DynamicOverwrite extends Rule[LogicalPlan] {
  val option = "parquetry.overwrite-partitions"

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case o @ OverwritePartitionsDynamic(r: DataSourceV2Relation, query, options, byName, evolves, None)
        if o.resolved && r.table.isInstanceOf[ParquetryTable] =>
      AppendData(r, query, options + (option -> "true"), byName, evolves, None, None)
  }
}

/** `MSCK REPAIR TABLE`, which Spark refuses for any V2 table, is the planner's procedure `sync`. */
object RepairStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case RepairTable(ResolvedTable(_, _, t: ParquetryTable, _), add, drop) =>
      val schema = Json.struct(t.ref.ask("repair_schema"))
      RepairCommand(t, add, drop, toAttributes(schema))
  }
}

case class RepairCommand(table: ParquetryTable, add: Boolean, drop: Boolean, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val answer = table.ref.ask("repair", table.identity ++ Seq[JField]("add" -> JBool(add), "drop" -> JBool(drop)): _*)
    val schema = Json.struct(answer \ "schema")
    val toRow = org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter(schema)
    (answer \ "rows").children.map(r => toRow(Json.toRow(r, schema)).asInstanceOf[Row])
  }
}

/**
 * Cached batches keep a minimum and maximum that pass over NaN, and Spark 4.3.0 prunes by them: rows with NaN
 * are lost under `f > x`. Conditions on floats are taken out of the pruning; they are still applied to rows.
 */
object CachePruning extends Rule[SparkPlan] {
  private def onFloat(e: Expression): Boolean = e.references.exists(_.dataType.existsRecursively {
    case DoubleType | FloatType => true
    case _ => false
  })

  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case scan: InMemoryTableScanExec if scan.predicates.exists(onFloat) =>
      scan.copy(predicates = scan.predicates.filterNot(onFloat))
  }
}
