package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.compact

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, UnresolvedIdentifier, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.expressions.{IdentityTransform, Transform}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol.{Json, ParquetryException}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.{Overwrite, OverwritePartitions}
import org.apache.spark.sql.util.{CaseInsensitiveStringMap, PartitioningUtils}

/**
 * Applies options and clauses that say what an overwrite replaces, and that Spark does not pass on. They are
 * the options `replaceWhere` and `partitionOverwriteMode` of DataFrames, and `IF NOT EXISTS` of a PARTITION
 * clause. With one of these options, `saveAsTable` writes into the existing table.
 *
 * @param tableOf returns the table of ours that a relation names, or None if it names another
 * @param parse parses a condition
 */
class OverwriteOptions(tableOf: UnresolvedRelation => Option[ParquetryTable], parse: String => Expression) {
  private val where = "replaceWhere"
  private val mode = "partitionOverwriteMode"
  /**
   * Options for the planner: the condition came from `replaceWhere`; the partition that must not exist yet.
   */
  private val byOption = "parquetry.replace-where"
  private val ifNotExists = "parquetry.if-not-exists"

  def applied(plan: LogicalPlan, isOurs: Seq[String] => Boolean): LogicalPlan = plan match {
    case o @ Overwrite(table, Literal.TrueLiteral, _, options, _) if has(options, where) =>
      o.copy(table = marked(table), deleteExpr = condition(options), writeOptions = marked(options))
    case OverwritePartitions(table, query, options, false, evolves, _) if has(options, where) => // of the session's mode
      Overwrite(marked(table), condition(options), query, marked(options), byName = false, evolves)
    case r @ ReplaceTableAsSelect(UnresolvedIdentifier(name, _), by, query, _, options, _, _)
        if isOurs(name) && (has(options, where) || isDynamic(options)) =>
      val relation = UnresolvedRelation(name)
      tableOf(relation) match {
        case None if has(options, where) => throw new ParquetryException("PROPERTY",
          s"Option $where says which rows of a table are replaced, and there is no table ${name.mkString(".")}: create it before.")
        case Some(table) if has(options, where) =>
          requireSame(table, by, where)
          OverwriteByExpression.byName(relation, query, condition(options), marked(options))
        case Some(table) if table.partitionColumns.nonEmpty =>
          requireSame(table, by, mode)
          OverwritePartitionsDynamic.byName(relation, query, options)
        case _ => r
      }
    case other => other.resolveOperatorsDown {
      case i: InsertIntoStatement if i.overwrite && i.ifPartitionNotExists => i.table match {
        case r: UnresolvedRelation => tableOf(r).fold(i)(table => i.copy(ifPartitionNotExists = false, table = r.copy(options =
          new CaseInsensitiveStringMap((r.options.asCaseSensitiveMap().asScala + (ifNotExists -> given(table, i.partitionSpec))).asJava))))
        case _ => i
      }
    }
  }

  private def has(options: Map[String, String], name: String): Boolean = options.exists(_._1.equalsIgnoreCase(name))
  private def value(options: Map[String, String], name: String): String = options.find(_._1.equalsIgnoreCase(name)).get._2
  private def isDynamic(options: Map[String, String]): Boolean = has(options, mode) && value(options, mode).equalsIgnoreCase("dynamic")
  private def marked(options: Map[String, String]): Map[String, String] =
    options.filterNot(_._1.equalsIgnoreCase(where)) + (byOption -> value(options, where))

  /** Spark refuses a statement whose options differ from its relation's, if that has any. */
  private def marked(relation: NamedRelation): NamedRelation = relation match {
    case r: DataSourceV2Relation if !r.options.isEmpty =>
      r.copy(options = new CaseInsensitiveStringMap(marked(r.options.asCaseSensitiveMap().asScala.toMap).asJava))
    case other => other
  }

  private def condition(options: Map[String, String]): Expression = try parse(value(options, where)) catch {
    case e: ParseException => throw new ParquetryException("PROPERTY",
      s"Option $where is '${value(options, where)}', which is no condition: ${e.getMessage.linesIterator.next()}")
  }

  private def requireSame(table: ParquetryTable, by: Seq[Transform], option: String): Unit = {
    val named = by.collect { case IdentityTransform(reference) => reference.fieldNames.mkString(".") }
    val resolver = SQLConf.get.resolver
    if (named.nonEmpty && !(named.length == table.partitionColumns.length && named.zip(table.partitionColumns).forall(p => resolver(p._1, p._2))))
      throw new ParquetryException("PROPERTY",
        s"${table.name()} is partitioned by ${table.partitionColumns.mkString(", ")}, and with option $option it stays what it is: " +
          s"leave out partitionBy(${named.mkString(", ")}).")
  }

  /**
   * The values of a PARTITION clause by column, in the protocol's form. Names that are no partition columns
   * are left out: Spark raises an error for them.
   */
  private def given(table: ParquetryTable, spec: Map[String, Option[String]]): String = {
    val resolver = SQLConf.get.resolver
    val said = table.partitionColumns.flatMap(name => spec.collectFirst { case (n, v) if resolver(n, name) => name -> v.orNull })
    val columns = table.partitionColumnsNamed(said.map(_._1))
    val values = said.zip(columns).map { case ((_, text), column) =>
      PartitioningUtils.castPartitionSpec(text, CharVarcharUtils.replaceCharVarcharWithString(column.dataType), SQLConf.get).eval()
    }
    compact(JObject("names" -> Json.strings(said.map(_._1)), "values" -> Json.ofRow(InternalRow.fromSeq(values), columns)))
  }
}
