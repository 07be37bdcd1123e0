package org.apache.spark.sql.parquetry

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.{Row, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, ResolvedPartitionSpec, ResolvedTable}
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression, Literal, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.sql.extensions` names this class. */
class ParquetryExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPostHocResolutionRule(_ => DynamicOverwrite)
    extensions.injectPostHocResolutionRule(_ => RepairStatement)
    extensions.injectPostHocResolutionRule(_ => ShowPartitionsStatement)
    extensions.injectPostHocResolutionRule(_ => RowLevelStatement)
    extensions.injectPostHocResolutionRule(_ => DeleteFromCached)
    extensions.injectPostHocResolutionRule(_ => RowsOfReplaceWhere)
    extensions.injectPreCBORule(_ => PartsOnPartitions)
    extensions.injectPreCBORule(_ => ConditionsOfCommands)
    extensions.injectPreCBORule(_ => UntranslatableConditions)
    extensions.injectPlannerStrategy(_ => DeleteStrategy)
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
      val marked = options ++ r.options.asCaseSensitiveMap().asScala + (option -> "true")
      // statement and relation each carry options or none; Spark refuses two that differ
      val relation = if (r.options.isEmpty) r else r.copy(options = new CaseInsensitiveStringMap(marked.asJava))
      AppendData(relation, query, marked, byName, evolves, None, None)
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
    Cached.refresh(table.ref, answer \ "changed")
    val schema = Json.struct(answer \ "schema")
    val toRow = org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter(schema)
    (answer \ "rows").children.map(r => toRow(Json.toRow(r, schema)).asInstanceOf[Row])
  }
}

/** `SHOW PARTITIONS` as Hive and Spark's own tables print it: Spark's V2 command prints NULL as the text `null`. */
object ShowPartitionsStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case ShowPartitions(ResolvedTable(_, _, t: ParquetryTable, _), None, output) if t.partitionColumns.nonEmpty =>
      ShowPartitionsCommand(t, Nil, InternalRow.empty, output)
    case ShowPartitions(ResolvedTable(_, _, t: ParquetryTable, _), Some(s: ResolvedPartitionSpec), output) =>
      ShowPartitionsCommand(t, s.names, s.ident, output)
  }
}

case class ShowPartitionsCommand(
    table: ParquetryTable, names: Seq[String], ident: InternalRow, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = Json.list(table.partitionNames(names, ident)).map(Row(_))
}

/** Statements on rows: the planner refuses those it does not offer, and says what to do instead. */
object RowLevelStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case u: UpdateTable => target(u.table).foreach(refuse(_, "UPDATE"))
      case m: MergeIntoTable => target(m.targetTable).foreach(refuse(_, "MERGE INTO"))
      case d: DeleteFromTable if SubqueryExpression.hasSubquery(d.condition) =>
        target(d.table).foreach(refuse(_, "DELETE FROM", "condition" -> JString(d.condition.sql)))
      case _ =>
    }
    plan
  }

  private def target(plan: LogicalPlan): Option[ParquetryTable] = EliminateSubqueryAliases(plan) match {
    case DataSourceV2Relation(t: ParquetryTable, _, _, _, _, _) => Some(t)
    case _ => None
  }

  def refuse(t: ParquetryTable, statement: String, more: JField*): Unit =
    t.ref.ask("refuse", (t.identity :+ ("statement" -> JString(statement))) ++ more: _*)
}

/**
 * Spark puts cached data in the place of any table it finds, that of a DELETE included, which then has no table.
 * An option that no query gives keeps the two apart.
 */
object DeleteFromCached extends Rule[LogicalPlan] {
  private val option = "parquetry.delete"

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d: DeleteFromTable => d.copy(table = d.table.resolveOperators {
      case r @ DataSourceV2Relation(_: ParquetryTable, _, _, _, _, _) if !r.options.containsKey(option) =>
        val options = new java.util.HashMap[String, String](r.options.asCaseSensitiveMap())
        options.put(option, "true")
        r.copy(options = new CaseInsensitiveStringMap(options))
    })
    case _ => plan
  }
}

/**
 * Spark pushes columns into the scan of a DELETE, too, and puts a projection over it if the scan gives them in
 * another order; then it no longer knows the table. The projection holds the same columns and may go. A condition
 * that has no form for sources, or is NULL, is seen to here as well.
 */
object DeleteStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case d @ DeleteFromTable(Project(_, scan: DataSourceV2ScanRelation), _) if isOurs(scan) =>
      planLater(d.copy(table = scan)) :: Nil
    case d @ DeleteFromTable(scan: DataSourceV2ScanRelation, Literal(null, _)) if isOurs(scan) =>
      planLater(d.copy(condition = Literal.FalseLiteral)) :: Nil
    case DeleteFromTable(scan @ DataSourceV2ScanRelation(r, _, _, _, _, _, _), condition) if isOurs(scan) =>
      conjuncts(condition).filter(DataSourceV2Strategy.translateFilterV2(_).isEmpty).foreach { c =>
        RowLevelStatement.refuse(r.table.asInstanceOf[ParquetryTable], "DELETE FROM", "condition" -> JString(c.sql))
      }
      Nil // the rest is Spark's
    case _ => Nil
  }

  private def isOurs(scan: DataSourceV2ScanRelation): Boolean = scan.relation.table.isInstanceOf[ParquetryTable]
  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
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
