package org.apache.spark.sql.parquetry.reports

import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable
import scala.util.Try

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.{
  Alias, Attribute, AttributeReference, Cast, DynamicPruningExpression, ExprId, Expression, KnownFloatingPointNormalized}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, NormalizeNaNAndZero}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.parquetry.audit.CheckedRowsExec
import org.apache.spark.sql.parquetry.filescans.ScanNode
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.parquetry.joingraph.{Lineage, LogicalNames}
import org.apache.spark.sql.parquetry.ordering.IncrementalSortExec
import org.apache.spark.sql.parquetry.protocol.CharPadding
import org.apache.spark.sql.parquetry.rowlayout.{BucketPartitioning, Lost, Movement, ZipBucketsExec}
import org.apache.spark.sql.parquetry.scan.{MetadataScan, Reported}
import org.apache.spark.sql.parquetry.versions.{Bucketing, ScanRelation}

/**
 * Facts about the joins of a physical plan as it was before it ran. They say how a join's keys are computed,
 * which scans of ours are below it, and whether rows are shuffled on the way. Python judges these facts.
 */
object JoinFacts {
  /** @param forValues ids of subqueries for runtime values: their joins repeat joins of the query */
  def of(plan: SparkPlan, forValues: Set[ExprId] = Set.empty): Seq[JValue] = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val found = List.newBuilder[JValue]
    // Spark runs equal subqueries once, but finds them only as it runs
    val subqueriesSeen = mutable.Set.empty[SparkPlan]
    def visit(plan: SparkPlan): Unit = if (seen.add(plan)) {
      Movement.inputs(plan).foreach(visit) // the joins below come first: that is the order of the query
      plan match {
        case join: BaseJoinExec => found += fact(join)
        case _ =>
      }
      plan.expressions.flatMap(subqueries(_, forValues)).filter(each => subqueriesSeen.add(each.canonicalized)).foreach(visit)
    }
    visit(plan)
    found.result()
  }

  private def subqueries(e: Expression, forValues: Set[ExprId]): Seq[SparkPlan] = e match {
    case _: DynamicPruningExpression => Nil
    case subquery: ExecSubqueryExpression if forValues(subquery.exprId) => Nil
    case subquery: ExecSubqueryExpression => subquery.plan +: subquery.children.flatMap(subqueries(_, forValues))
    case other => other.children.flatMap(subqueries(_, forValues))
  }

  /**
   * The children of a node, or the plan that filled a cache; that plan's joins do not belong to this plan.
   */
  private def allBelow(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case cached: InMemoryTableScanExec => Seq(cached.relation.cachedPlan)
    case other => Movement.inputs(other)
  }

  private def fact(join: BaseJoinExec): JValue = JObject(
    "type" -> JString(typeOf(join)),
    "sides" -> JArray(List(side(join.left, join.leftKeys), side(join.right, join.rightKeys))),
    "sorts" -> JInt(join.children.count(arrives(_).isInstanceOf[SortExec])),
    "incremental_sorts" -> JInt(join.children.count(arrives(_).isInstanceOf[IncrementalSortExec])),
    "broadcast" -> (join match {
      case hash: BroadcastHashJoinExec => JInt(if (hash.buildSide == BuildLeft) 0 else 1)
      case loop: BroadcastNestedLoopJoinExec => JInt(if (loop.buildSide == BuildLeft) 0 else 1)
      case _ => JNull
    }))
  /** The node that gives a side's rows to the join. */
  private def arrives(plan: SparkPlan): SparkPlan = plan match {
    case _: InputAdapter | _: WholeStageCodegenExec | _: CheckedRowsExec => arrives(plan.children.head)
    case other => other
  }
  private def typeOf(join: BaseJoinExec): String = LogicalNames.of(join.joinType)

  private def side(plan: SparkPlan, keys: Seq[Expression]): JValue = {
    def collect(plan: SparkPlan): Seq[(SparkPlan, Reported)] = (plan match {
      case ScanNode(ours: Reported, _) => Seq(plan -> ours)
      case _ => Nil
    }) ++ (plan match {
      case parts: ZipBucketsExec => collect(parts.children.head) // one scan in two parts
      case _ => allBelow(plan).flatMap(collect)
    })
    val scans = collect(plan)
    val columns = scans.zipWithIndex.flatMap { case ((scan, _), i) => scan.output.map(_.exprId -> i) }.toMap
    JObject(
      "name" -> JString(nameOf(plan)),
      "keys" -> JArray(keys.map(key => keyFact(traced(key, plan), columns)).toList),
      "scans" -> JArray(scans.map { case (_, scan) =>
        JObject("table" -> scan.report \ "table", "buckets" -> (scan.bucketsInPlanning match {
          case JNothing => JNull
          case found => found
        }))
      }.toList),
      "moves" -> JArray(Lost.below(plan).map(described).distinct.toList),
      "in_buckets" -> JBool(inBuckets(plan)))
  }

  /** Why rows are not where they were read, for Python. */
  private def described(lost: Lost): JValue = lost match {
    case Lost.Shuffle(isAsked) => JObject("kind" -> JString(if (isAsked) "repartition" else "shuffle"))
    case Lost.Rest => JObject("kind" -> JString("rest"))
    case Lost.Through(node) => JObject("kind" -> JString("node"), "node" -> JString(node))
    case Lost.Other(node) => JObject("kind" -> JString("other"), "node" -> JString(node))
  }

  /** A key of a plan as an expression of its leaves' columns, as far as its columns can be followed. */
  private def traced(key: Expression, plan: SparkPlan): Expression = key.transformUp { case column: Attribute =>
    Lineage.below(column, plan, allBelow(plan)).headOption.fold[Expression](column) { case (below, input) => traced(below, input) }
  }

  /**
   * Whether a plan is partitioned by buckets. Spark computes the partitioning anew by the session's settings,
   * and may fail if they have changed since.
   */
  private def inBuckets(plan: SparkPlan): Boolean =
    Try(plan.outputPartitioning).toOption.exists(found => Bucketing.isKeyed(found) || BucketPartitioning.isIn(found))

  private def keyFact(key: Expression, scans: Map[ExprId, Int]): JValue = {
    val columns = key.collect { case a: AttributeReference if scans.contains(a.exprId) => a }.distinct
    JObject(
      "sql" -> JString(written(key)),
      "columns" -> JArray(columns.map(a => JObject("scan" -> JInt(scans(a.exprId)), "name" -> JString(a.name),
        "type" -> JString(a.dataType.catalogString))).toList),
      "plain" -> JBool(key.isInstanceOf[AttributeReference] && columns.nonEmpty),
      "cast" -> JBool(key match {
        case cast: Cast => cast.child.isInstanceOf[AttributeReference] && columns.nonEmpty
        case _ => false
      }))
  }

  /** A key's SQL as the query has it, without functions that Spark puts around columns of some types. */
  private def written(key: Expression): String = key.transformUp {
    case a: AttributeReference => a.withQualifier(Nil)
    case alias: Alias => alias.child
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(number)) => number
    case CharPadding(column) => column
  }.sql

  private def nameOf(plan: SparkPlan): String = plan match {
    case scan: BatchScanExec => scan.table.name()
    case files: FileSourceScanExec => files.tableIdentifier.fold("files")(_.unquotedString)
    case rows: LocalTableScanExec => answered(rows).getOrElse(rows.nodeName)
    case other => Movement.inputs(other).headOption.fold(other.nodeName)(nameOf)
  }

  /** The table whose metastore has answered an aggregate with some rows, or None for other rows. */
  private def answered(rows: LocalTableScanExec): Option[String] = rows.logicalLink.flatMap(_.collectFirst {
    case relation @ ScanRelation(of, _: MetadataScan, _, _, _) if relation.outputSet == rows.outputSet => of.table.name()
  })
}
