package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions.{Alias, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.hash.BucketFunction
import org.apache.spark.sql.parquetry.protocol.JoinsAnswer
import org.apache.spark.sql.parquetry.rowlayout._
import org.apache.spark.sql.parquetry.scan.{ParquetryScan, SplitBuckets}
import org.apache.spark.sql.parquetry.versions.{BucketTransform, ScanRelation}

/** Changes a plan as the planner has decided about buckets, and the plans of its runtime filters alike. */
private class ChosenLayouts(graph: PlanGraph, chosen: JoinsAnswer) {
  private val sources = graph.joins.flatMap(_.sources).distinctBy(source => System.identityHashCode(source.relation))
  private def numberOf(counts: Seq[Long], relation: DataSourceV2ScanRelation): Option[Int] =
    counts.lift(graph.scans.indexWhere(_ eq relation)).map(_.toInt)
  private val placed = sources.flatMap(source => numberOf(chosen.inPlace, source.relation).filter(_ > 0).map(source -> _))
  private val unions = if (ChosenLayouts.zipsUnions) Nil else placed.flatMap(_._1.unions)
  private val splits = graph.joins.zip(chosen.splits).filter(_._1.hot.nonEmpty)

  def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case union: Union if unions.exists(_._1 eq union) => ZippedUnion(unions.find(_._1 eq union).get._2, union.mapChildren(apply))
    case Scanned(relation) if placeOf(relation).isDefined => inPlace(plan, relation, placeOf(relation).get)
    case relation: DataSourceV2ScanRelation => split(counted(relation), relation)
    case join: Join if splits.exists { case (one, decision) => (one.join eq join) && decision.side.isDefined } => HideBuckets(below(join))
    case project: Project => computed(project)
    case other => below(other)
  }
  private def below(plan: LogicalPlan): LogicalPlan = values(plan.mapChildren(apply))

  // Scans

  /** A scan with the number of buckets that it reports to Spark. */
  private def counted(relation: DataSourceV2ScanRelation): DataSourceV2ScanRelation = relation match {
    case ScanRelation(_, scan: ParquetryScan, _, Some(functions), _) =>
      numberOf(chosen.bucketCounts, relation).filter(count => !scan.buckets.exists(_.count == count))
        .flatMap(count => scan.withBucketCount(count).map(other => relation.copy(scan = other, keyGroupedPartitioning = Some(functions.map {
          case t @ BucketTransform(f: BucketFunction, _) => t.copy(function = f.copy(count = count))
          case other => other
        })))).getOrElse(relation)
    case _ => relation
  }

  /** A scan whose hot buckets are read by several tasks, or one that is joined with it. */
  private def split(relation: DataSourceV2ScanRelation, before: DataSourceV2ScanRelation): DataSourceV2ScanRelation =
    splits.iterator.map { case (join, decision) => decision -> join.hot.indexWhere(_.relation eq before) }.collectFirst {
      case (decision, i) if i >= 0 =>
        val mode = SplitBuckets(if (decision.side.isEmpty) Nil else decision.buckets, decision.side.contains(i), decision.texts(i))
        relation.copy(scan = relation.scan.asInstanceOf[ParquetryScan].withSplit(mode))
    }.getOrElse(relation)

  private def placeOf(relation: DataSourceV2ScanRelation): Option[(Source, Int)] = placed.find(_._1.relation.scan eq relation.scan)

  /** A scan below conditions that are evaluated where its rows are. */
  private object Scanned {
    def unapply(plan: LogicalPlan): Option[DataSourceV2ScanRelation] = plan match {
      case relation: DataSourceV2ScanRelation => Some(relation)
      case Filter(condition, child) if condition.deterministic => unapply(child)
      case _ => None
    }
  }

  private def inPlace(plan: LogicalPlan, relation: DataSourceV2ScanRelation, place: (Source, Int)): LogicalPlan = {
    val (source, count) = place
    val scan = relation.scan.asInstanceOf[ParquetryScan]
    scan.inPlace(count).fold(plan) { found =>
      val buckets = source.buckets.get
      val columns = buckets.columns.flatMap(name => relation.output.find(_.name == name))
      def reading(part: ParquetryScan): LogicalPlan = plan.transformUp {
        case same: DataSourceV2ScanRelation if same.scan eq scan =>
          same.copy(scan = part, keyGroupedPartitioning = None, ordering = same.ordering.filter(_ => part.isSortedInPlace))
        case filter => values(filter)
      }
      val inside = InBuckets(BucketLayout(buckets.version, count, source.types), columns, reading(found))
      found.besideBuckets.fold[LogicalPlan](inside)(beside => ZipBuckets(columns, Seq(inside, reading(beside))))
    }
  }

  // Nodes above

  /**
   * A projection above a scan in place. If it drops a bucket column, the bucket may follow from what it
   * computes of that column, which Spark does not know.
   */
  private def computed(project: Project): LogicalPlan = {
    val changed = below(project)
    graph.layouts.of(project).find(source => placeOf(source.relation).isDefined && isAlone(project)).filter { source =>
      source.columns.forall(_.nonEmpty) && !graph.layouts.of(project.child).find(_.relation eq source.relation).exists(_.columns.forall(isPlain(_, project)))
    }.fold(changed) { source =>
      ComputedBuckets(BucketLayout(source.buckets.get.version, placeOf(source.relation).get._2, source.types), source.columns.map(_.head), changed)
    }
  }
  private def isPlain(ways: Seq[Expression], project: Project): Boolean = project.projectList.exists {
    case Alias(value, _) => ways.exists(_.semanticEquals(value))
    case same => ways.exists(_.semanticEquals(same))
  }
  private def isAlone(plan: LogicalPlan): Boolean = plan match {
    case _: DataSourceV2ScanRelation => true
    case _: Project | _: Filter => isAlone(plan.children.head)
    case _ => false
  }

  /** A node whose runtime filters take their values from plans that are changed, too. */
  private def values(node: LogicalPlan): LogicalPlan = node match {
    case filter @ Filter(condition, _) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      filter.copy(condition = condition.transform { case sparks: DynamicPruningSubquery => sparks.withNewPlan(apply(sparks.plan)) })
    case other => other
  }
}

private object ChosenLayouts {
  /** Whether Spark reads partition i of all plans of a UNION ALL in one task: Spark 4.0 does not. */
  def zipsUnions: Boolean = {
    val setting = "spark.sql.unionOutputPartitioning"
    SQLConf.containsConfigKey(setting) && SQLConf.get.getConfString(setting).toBoolean
  }
}
