package org.apache.spark.sql.parquetry.skew

import org.json4s._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.parquetry.joingraph.KeySource
import org.apache.spark.sql.parquetry.predicates.{BalancedChains, EvaluatedPartitionPredicates}
import org.apache.spark.sql.parquetry.protocol.{JoinsAnswer, Json, Settings, SkewSplitAnswer}
import org.apache.spark.sql.parquetry.rowlayout.RowLayouts
import org.apache.spark.sql.parquetry.scan.{FewerFiles, ParquetryScan}
import org.apache.spark.sql.parquetry.versions.ScanRelation

/**
 * The heavy keys of a join, for the report.
 *
 * @param keys the condition that rows have a heavy key, or None if the join stays as it is
 */
case class SkewOutcome(
    table: String, other: String, `type`: String, keys: Option[String], count: Int, share: Option[Double], reason: String)

/**
 * Joins the rows of heavy keys apart from all others, where the planner says that it pays:
 *
 * {{{
 * l JOIN r ON l.k = r.k         UNION ALL
 *                                 (l without k = 10) JOIN r ON l.k = r.k
 *                                 (l with k = 10) JOIN broadcast(r with k = 10) ON l.k = r.k
 * }}}
 *
 * Each row of the side with heavy keys is in one branch, and so are all its matches. So the answer is the
 * same for each type of join that needs no row of the other side without a match. Runs after Spark has pushed
 * conditions to the scans, whose sizes are known by then; each branch reads the directories of its own keys.
 */
object SplitHeavyKeys extends Rule[LogicalPlan] {
  /** The outcome for a join. A join with this tag is not considered again. */
  val outcome = TreeNodeTag[Option[SkewOutcome]]("parquetry.skew")

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case correlated: Subquery if correlated.correlated => plan
    case _ if plan.isStreaming || !plan.containsPattern(TreePattern.JOIN) || !plan.exists(isOurs) || plan.exists(rewritesRows) => plan
    case _ => split(plan)
  }

  private def isOurs(plan: LogicalPlan): Boolean = plan match {
    case relation: DataSourceV2ScanRelation => relation.scan.isInstanceOf[ParquetryScan]
    case _ => false
  }
  /** Whether a statement changes rows: it finds their files by a join of its own. */
  private def rewritesRows(plan: LogicalPlan): Boolean = plan match {
    case _: RowLevelWrite | _: DeleteFromTable | _: UpdateTable | _: MergeIntoTable => true
    case _ => false
  }

  private def split(plan: LogicalPlan): LogicalPlan = {
    val joins = plan.collect { case join: Join if join.getTagValue(outcome).isEmpty => join }
    val layouts = new RowLayouts
    val candidates = joins.flatMap(SkewedJoin.of(_, layouts)).filter(_.isWorthAsking)
    val answers = candidates.groupBy(_.scan.table.ref).toSeq.flatMap { case (catalog, some) =>
      val questions = some.map(one => one.question(joins.indexWhere(_ eq one.join)))
      some.zip(catalog.ask("plan_joins", Settings.field, "skewed" -> JArray(questions.toList)).as[JoinsAnswer].skewSplits)
    }
    def ofJoin(join: Join) = answers.filter(_._1.join eq join)
    val wanted = joins.filter(ofJoin(_).exists(_._2.values.nonEmpty))
    // a join above another one waits for the next round: its branches are made of the other one's
    val (later, now) = joins.partition(join => wanted.exists(below => !(below eq join) && join.exists(_ eq below)))
    val made = now.flatMap { join =>
      val mine = ofJoin(join)
      val split = mine.find(_._2.values.nonEmpty)
      join.setTagValue(outcome, mine.find(_._2.reason.nonEmpty).map { case (candidate, answer) => refused(candidate, answer) })
      split.flatMap { case (candidate, answer) => new HeavyBranches(candidate, answer).union }.map(join -> _)
    }
    if (made.isEmpty) {
      later.foreach(_.setTagValue(outcome, None))
      plan
    } else plan.transformUp {
      case join: Join => made.collectFirst { case (before, after) if before eq join => after }.getOrElse(join)
    }
  }

  private def refused(candidate: SkewedJoin, answer: SkewSplitAnswer): SkewOutcome =
    SkewOutcome(candidate.table, candidate.otherName, candidate.typeName, None, 0, None, answer.reason)
}

/** The two branches of a join. */
private class HeavyBranches(candidate: SkewedJoin, answer: SkewSplitAnswer) {
  import candidate.{join, onLeft, own, other}

  /** For each column of the heavy keys its index among the join's keys, and the column of the scan. */
  private val places = answer.columns.map(name => candidate.keys.find(_._2.name == name).get)
  private val values: Seq[Seq[Literal]] = answer.values.map(_.zip(places).map { case (text, (_, column)) =>
    Literal(Json.toValue(text, column.dataType), column.dataType)
  })

  private def among(keys: Seq[Expression]): Expression =
    if (keys.length == 1) In(keys.head, values.map(_.head))
    else BalancedChains.any(values.map(key => keys.zip(key).map { case (of, value) => EqualTo(of, value): Expression }.reduce(And(_, _)))).get
  /** TRUE for all other rows, also where the condition is NULL. */
  private def otherwise(condition: Expression): Expression = Not(Coalesce(Seq(condition, Literal.FalseLiteral)))
  /** The same in a form that the planner understands. */
  private def without(columns: Seq[Expression]): Expression =
    Or(Not(among(columns)), columns.map(IsNull(_): Expression).reduce(Or(_, _)))

  def union: Option[LogicalPlan] = for {
    (ownCopy, ownColumns) <- FreshCopy.of(own.plan)
    (otherCopy, otherColumns) <- FreshCopy.of(other.plan)
  } yield {
    val columns = places.map(_._2)
    val rest = narrowed(own.plan, places.map { case (index, _) => own.keys(index) })(otherwise, without)
    val heavy = narrowed(ownCopy, places.map { case (index, _) => renamed(own.keys(index), ownColumns) })(identity, among)
    val matching = narrowed(otherCopy, places.map { case (index, _) => renamed(other.keys(index), otherColumns) })(identity, among)
    val restJoin = if (onLeft) join.copy(left = rest) else join.copy(right = rest)
    val condition = join.condition.map(e => renamed(renamed(e, ownColumns), otherColumns))
    val broadcast = Some(HintInfo(strategy = Some(BROADCAST)))
    val heavyJoin =
      if (onLeft) Join(heavy, matching, FreshCopy.of(join.joinType), condition, JoinHint(None, broadcast))
      else Join(matching, heavy, FreshCopy.of(join.joinType), condition, JoinHint(broadcast, None))
    val keys = EvaluatedPartitionPredicates.text(among(columns))
    restJoin.setTagValue(SplitHeavyKeys.outcome, Some(SkewOutcome(
      candidate.table, candidate.otherName, candidate.typeName, Some(keys), values.length, answer.share, "")))
    heavyJoin.setTagValue(SplitHeavyKeys.outcome, None)
    Union(Seq(restJoin, Project(heavyJoin.output.map(a => Alias(a, a.name)(qualifier = a.qualifier)), heavyJoin)))
  }

  private def renamed(e: Expression, columns: AttributeMap[Attribute]): Expression = e.transform { case a: Attribute => columns.getOrElse(a, a) }

  /**
   * A side with the rows of some keys: their condition above it, and below it narrower scans of ours.
   *
   * @param keys of the side
   * @param ofRows makes the condition of rows from the condition that keys are heavy
   * @param ofFiles makes the condition for the planner from columns
   */
  private def narrowed(plan: LogicalPlan, keys: Seq[Expression])(
      ofRows: Expression => Expression, ofFiles: Seq[Expression] => Expression): LogicalPlan = {
    val sources = keys.map(KeySource.of(_, plan)).collect { case Seq(one) if one.key.isInstanceOf[AttributeReference] => one }
    val fewer = sources.headOption.filter(first => sources.length == keys.length && sources.forall(source =>
      (source.relation eq first.relation) && source.steps.forall(SkewedJoin.passes)))
      .fold(plan)(first => plan.transform {
        case relation: DataSourceV2ScanRelation if relation eq first.relation => relation match {
          case ScanRelation(_, scan: ParquetryScan, _, _, _) =>
            val condition = ofFiles(sources.map(_.key))
            DataSourceV2Strategy.translateFilterV2(condition).fold[LogicalPlan](relation)(predicate => FewerFiles(relation, scan,
              scan.withConditions(scan.table.judge(Seq(predicate), scan.options).map(_.copy(condition = Some(condition))))))
        }
      })
    PushDownPredicates(Filter(ofRows(among(keys)), fewer))
  }
}
