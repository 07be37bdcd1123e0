package org.apache.spark.sql.parquetry.statements

import java.util.Locale

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{CatalogManager, LookupCatalog}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.catalog.PlannerCatalog
import org.apache.spark.sql.parquetry.protocol.{ChangeEnd, ChangeKeys, ParquetryException}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/**
 * `table_changes('db.t', 3, 9, keys => 'id', net => true)`: the changes of the versions 3 to 9 as rows. An
 * end may be a time. Without the third argument, the newest version ends the range.
 */
object TableChanges {
  val name: FunctionIdentifier = FunctionIdentifier("table_changes")
  val info: ExpressionInfo = new ExpressionInfo("org.apache.spark.sql.parquetry.statements.TableChanges", null, name.funcName,
    "table_changes(table, start[, end][, keys => 'id'][, net => true]) - Returns the changes of versions of a table as rows.", "")
  private val usage = "write table_changes('db.t', 3, 9), with versions or times, and keys => 'id' or net => true behind"

  def plan(arguments: Seq[Expression]): LogicalPlan = {
    val session = SparkSession.active.asInstanceOf[ClassicSession]
    val named = arguments.collect { case NamedArgumentExpression(key, value) => key.toLowerCase(Locale.ROOT) -> value }.toMap
    val positional = arguments.filterNot(_.isInstanceOf[NamedArgumentExpression])
    val unknown = named.keySet -- Set("keys", "net")
    if (positional.length < 2 || positional.length > 3 || unknown.nonEmpty) throw refused(
      s"table_changes with ${if (unknown.nonEmpty) s"the argument ${unknown.head}" else s"${positional.length} arguments in a row"}: $usage.")
    if (!(positional ++ named.values).forall(_.foldable)) throw refused(s"table_changes takes constants: $usage.")
    val (catalog, changes) = load(session, text(positional.head, "the table's name"))
    val table = changes(end(positional(1)), positional.lift(2).flatMap(e => Option(e.eval()).map(_ => end(e))),
      named.get("keys").map(columns).getOrElse(Nil), named.get("net").exists(isTrue))
    DataSourceV2Relation.create(table, Some(catalog), None, CaseInsensitiveStringMap.empty())
  }

  private def load(session: ClassicSession, given: String) = {
    val names = new Names(session.sessionState.catalogManager)
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(given)
    names.ours(parts).map { case (catalog, ident) =>
      (catalog, (start: ChangeEnd, end: Option[ChangeEnd], keys: Seq[String], net: Boolean) =>
        catalog.changes(ident, Some(start), end, if (net) "net" else "each", keys))
    }.getOrElse(throw refused(s"table_changes('$given', …): this is no table in a catalog of Parquetry. Name one, as 'catalog.database.table'."))
  }

  private class Names(override val catalogManager: CatalogManager) extends LookupCatalog {
    def ours(parts: Seq[String]) = {
      val within = AnalysisContext.get.catalogAndNamespace // of a view, which was made there
      val full = if (within.isEmpty || catalogManager.isCatalogRegistered(parts.head)) parts
        else if (parts.length == 1) within ++ parts else within.head +: parts
      Some(full).collect { case CatalogAndIdentifier(catalog: PlannerCatalog, ident) => (catalog, ident) }
    }
  }

  private def refused(message: String) = new ParquetryException("UNSUPPORTED", message)

  private def text(e: Expression, what: String): String = e.eval() match {
    case value: UTF8String => value.toString
    case other => throw refused(s"table_changes: $what is $other, and should be a text: $usage.")
  }

  private def end(e: Expression): ChangeEnd = (e.eval(), e.dataType) match {
    case (null, _) => throw refused(s"table_changes: a version is NULL: $usage.")
    case (number: Number, _: IntegralType) => ChangeEnd(Some(number.toString), None, included = true)
    case (_, _: StringType | DateType | TimestampType | TimestampNTZType) =>
      Cast(e, TimestampType, Some(SQLConf.get.sessionLocalTimeZone), EvalMode.LEGACY).eval() match {
        case time: Long => ChangeEnd(None, Some(time), included = true)
        case _ => throw refused(s"table_changes: ${e.eval()} is neither a version nor a time such as '2026-11-23 08:00:00': $usage.")
      }
    case (other, _) => throw refused(s"table_changes: $other is neither a version nor a time: $usage.")
  }

  /** Names of columns: a text with commas, or an array of texts. */
  private def columns(e: Expression): Seq[String] = e.eval() match {
    case null => Nil
    case list: ArrayData => list.toObjectArray(StringType).toSeq.map(_.toString)
    case one => ChangeKeys.split(one.toString)
  }

  private def isTrue(e: Expression): Boolean = e.eval() match {
    case value: Boolean => value
    case other => throw refused(s"table_changes: net is $other: write true or false.")
  }
}
