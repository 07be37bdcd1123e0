package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.analysis.DeduplicateRelations
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeSet, Exists, Expression, Not, Or, OuterReference}
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.{BalancedChains, PartitionPredicates}
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.MergeClauses
import org.apache.spark.sql.types.NullType

/**
 * Has a MERGE search files by the conditions of its clauses. Spark searches by ON alone, or not at all:
 *
 * {{{
 * ON t.id = s.id WHEN MATCHED AND t.a <> s.a THEN UPDATE …     EXISTS (source WHERE t.id = s.id AND t.a <> s.a)
 *   WHEN NOT MATCHED BY SOURCE AND t.old THEN DELETE           OR (NOT EXISTS (source WHERE t.id = s.id) AND t.old)
 * }}}
 *
 * If the MERGE inserts rows, files with any match are read, too: otherwise source rows that match would be
 * inserted again. `RowsOfChangedFiles` drops the rows of these files afterwards.
 */
object NarrowMergeFiles extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) && conf.runtimeRowLevelOperationGroupFilterEnabled &&
        ReadSourceOnce.fickle(r.query).isEmpty && !r.query.exists(_.isInstanceOf[RowsOfChangedFiles]) =>
      (r.originalTable, r.query.collectFirst { case rows: MergeRows => rows }) match {
        case (relation: DataSourceV2Relation, Some(rows @ MergeRows(_, _, _, _, _, _, _, Join(target, source, _, Some(on), _)))) =>
          narrowed(r, relation, rows, new Matches(target, source, on))
        case _ => r
      }
    case _ => plan
  }

  /** The matches of a row of the target. */
  private class Matches(target: LogicalPlan, source: LogicalPlan, on: Expression) {
    private val row = AttributeSet(target.output)
    def exist: Expression = exist(TrueLiteral)
    /**
     * True if a match exists that satisfies the condition, else NULL or false. Conditions on the row alone
     * are outside of the subquery, so that the scan can use them.
     */
    def exist(condition: Expression): Expression = if (condition == FalseLiteral) FalseLiteral else {
      val (own, others) = PartitionPredicates.conjuncts(and(on, condition))
        .partition(c => c.deterministic && c.references.nonEmpty && c.references.subsetOf(row))
      BalancedChains.balanced(own :+ subquery(BalancedChains.balanced[Expression](others, and, TrueLiteral)), and, TrueLiteral)
    }
    def none: Expression = Not(subquery(on))

    private def subquery(condition: Expression): Expression = {
      val asked = condition.transform { case a: Attribute if row.contains(a) => OuterReference(a) }
      // the source is in the plan already
      val Join(_, again, _, _, _) = DeduplicateRelations(Join(source, source, Inner, None, JoinHint.NONE)): @unchecked
      val names = source.output.zip(again.output).map { case (old, fresh) => old.exprId -> fresh }.toMap
      val filter = Filter(asked.transform { case a: Attribute => names.getOrElse(a.exprId, a) }, again)
      Exists(filter, asked.collect { case OuterReference(a) => a })
    }
  }

  private def narrowed(r: ReplaceData, relation: DataSourceV2Relation, rows: MergeRows, matches: Matches): LogicalPlan = {
    val matchedCondition = anyOf(rows.matchedInstructions)
    val unmatchedCondition = anyOf(rows.notMatchedBySourceInstructions)
    def changed = or(matches.exist(matchedCondition), and(matches.none, unmatchedCondition))
    def looked(condition: Expression) = Some(condition).filter(_ != TrueLiteral)
    // Spark's own condition does not pad chars of the source
    val read = r.copy(groupFilterCondition = looked(or(matches.exist, unmatchedCondition)))
    if (matchedCondition == TrueLiteral) read // every row with a match is changed
    else if (rows.notMatchedInstructions.isEmpty) r.copy(groupFilterCondition = looked(changed))
    else {
      val ready = PadRowConditions(ExpandRowConditions(r.copy(groupFilterCondition = Some(changed)))).asInstanceOf[ReplaceData]
      read.copy(query = RowsOfChangedFiles(r.query, files(relation, ready.groupFilterCondition.get)))
    }
  }

  /**
   * The condition that one of a MERGE's clauses applies. An instruction that only copies a row does not
   * count.
   */
  private def anyOf(instructions: Seq[MergeRows.Instruction]): Expression =
    BalancedChains.balanced[Expression](
      MergeClauses.applied(instructions).map(_.condition).filter(_.dataType != NullType), or, FalseLiteral)

  private def or(left: Expression, right: Expression): Expression =
    if (left == TrueLiteral || right == FalseLiteral) left else if (right == TrueLiteral || left == FalseLiteral) right else Or(left, right)
  private def and(left: Expression, right: Expression): Expression =
    if (left == FalseLiteral || right == TrueLiteral) left else if (right == FalseLiteral || left == TrueLiteral) right else And(left, right)

  /** The names of the files with a row that satisfies a condition. */
  private def files(relation: DataSourceV2Relation, condition: Expression): LogicalPlan = {
    val read = relation.withMetadataColumns()
    val name = relation.table.asInstanceOf[ParquetryTable].fileColumn.name
    val file = read.output.find(_.name == name).get
    Aggregate(Seq(file), Seq(file), Filter(condition, read)).transformUpWithNewOutput {
      case same: DataSourceV2Relation if same eq read =>
        val fresh = same.newInstance()
        fresh -> same.output.zip(fresh.output)
    }
  }
}
