package org.apache.spark.sql.parquetry.statements

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, NoSuchViewException, ResolvedNamespace}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.{quoteIfNeeded, StringUtils}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.ShowTablesExtendedExec
import org.apache.spark.sql.parquetry.catalog.PlannerCatalog
import org.apache.spark.sql.parquetry.protocol.ParquetryException
import org.apache.spark.sql.parquetry.versions.Relations.View

/**
 * `SHOW TABLE EXTENDED` shows views, too, as it does for Spark's own catalog: Spark asks catalogs of others
 * for their tables alone. dbt finds views by it.
 */
object ShowTablesStatement extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case ShowTablesExtended(r: ResolvedNamespace, pattern, output) if !ParquetryException.isLacking("views") => r.catalog match {
      case catalog: PlannerCatalog => ShowTablesCommand(catalog, r.namespace, pattern, output)
      case _ => plan
    }
    case _ => plan
  }
}

/** Spark's own rows for the tables and the temporary views, and a row for each view, by their names. */
case class ShowTablesCommand(
    catalog: PlannerCatalog, namespace: Seq[String], pattern: String, override val output: Seq[Attribute])
  extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val toRow = CatalystTypeConverters.createToScalaConverter(DataTypeUtils.fromAttributes(output))
    val rows = ShowTablesExtendedExec(output, catalog, namespace, pattern).executeCollect().toSeq.map(toRow(_).asInstanceOf[Row])
    val (temporary, tables) = rows.partition(_.getBoolean(2))
    val names = catalog.listViews(namespace.toArray).toSeq.filter(each => StringUtils.filterPattern(Seq(each.name), pattern).nonEmpty)
    val views = for (name <- names; view <- find(name)) yield
      Row(namespace.map(quoteIfNeeded).mkString("."), name.name, false, s"${information(name, view)}\n")
    (tables ++ views).sortBy(_.getString(1)) ++ temporary
  }

  /** Returns a view, or None if somebody has dropped it since it was listed. */
  private def find(name: Identifier): Option[View] =
    try Some(catalog.loadRelation(name)).collect { case view: View => view } catch {
      case _: NoSuchViewException | _: NoSuchTableException => None
    }

  private def information(name: Identifier, view: View): String = {
    val properties = view.properties().asScala.toMap
    val context = Option(view.currentCatalog()).toSeq ++ view.currentNamespace()
    val others = (properties -- Seq(TableCatalog.PROP_OWNER, TableCatalog.PROP_COMMENT)).toSeq.sorted.map { case (key, value) => s"$key=$value" }
    val lines = Seq(
      "Catalog" -> catalog.name(),
      "Namespace" -> namespace.map(quoteIfNeeded).mkString("."),
      "Table" -> name.name,
      "Owner" -> properties.getOrElse(TableCatalog.PROP_OWNER, ""),
      "Type" -> "VIEW",
      "View Text" -> view.queryText(),
      "View Catalog and Namespace" -> context.map(quoteIfNeeded).mkString("."),
      "View Query Output Columns" -> view.queryColumnNames().mkString("[", ", ", "]"),
      "Comment" -> properties.getOrElse(TableCatalog.PROP_COMMENT, ""),
      "Table Properties" -> (if (others.isEmpty) "" else others.mkString("[", ", ", "]")))
    val shown = lines.collect { case (key, value) if value.nonEmpty => s"$key: $value" }
    (shown :+ s"Schema: ${view.schema().treeString}").mkString("\n")
  }
}
