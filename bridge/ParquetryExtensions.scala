package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.parquetry.audit.{
  AuditDeletes, AuditStrategy, CheckRowLocations, NoteAuditedConditions, NoteAuditedPlan, StartAudit}
import org.apache.spark.sql.parquetry.buckets.{
  BucketStrategy, ReadBucketSamples, ResolveBucketSamples, ResolveHashFunctions}
import org.apache.spark.sql.parquetry.catalog.EndRefresh
import org.apache.spark.sql.parquetry.changes.{CompareRowsStrategy, ExpandChanges, PushBelowComparison}
import org.apache.spark.sql.parquetry.filescans.{BroadcastOnce, UseFileScans}
import org.apache.spark.sql.parquetry.joingraph.SplitStructEqualities
import org.apache.spark.sql.parquetry.ordering.SortAsFiles
import org.apache.spark.sql.parquetry.predicates.{
  DisableFloatCachePruning, ExpandTupleIn, ExtractPartitionPredicates, GuardUntranslatablePredicates, ListEqualities,
  OfferDirectoryPredicates, RewriteCharComparisons}
import org.apache.spark.sql.parquetry.process.UnclosedJars
import org.apache.spark.sql.parquetry.reports.ExplainStrategy
import org.apache.spark.sql.parquetry.results.ReadInOrder
import org.apache.spark.sql.parquetry.rowlayout.CheckLayouts
import org.apache.spark.sql.parquetry.rows.{
  DeleteStrategy, EvaluateCommandPredicates, ExpandRowConditions, GuardRowConditions, MarkInsertOnlyMerge, NarrowMergeFiles,
  PadRowConditions, PadTargetChars, ReadSourceOnce, RecordMergeSearch, RowsStrategy, SeparateDeleteFromCache, UnpadTargets, UntypeWrittenChars}
import org.apache.spark.sql.parquetry.runtime.{LimitSubqueryWait, PlanTupleSubqueries, TupleStrategy}
import org.apache.spark.sql.parquetry.scan.{ForeseeScans, SeparateScans}
import org.apache.spark.sql.parquetry.statements.{
  AnalyzeStatement, DescribeStatement, EarlyStatements, EvolveViewSchemas, ExpandDroppedPartitions, LoadDataStatement, Parser,
  RepairStatement, ShowCreateTableStatement, ShowPartitionValues, ShowPartitionsStatement, ShowTablesStatement, TableChanges}
import org.apache.spark.sql.parquetry.streaming.{
  CheckStreamingModes, MarkStreamedTables, PruneStreamColumns, StreamedRowsStrategy}
import org.apache.spark.sql.parquetry.write.{CheckReplaceWhereRows, DynamicOverwrite, ObservedWriteStrategy}

/**
 * Gives Spark our parser, rules and strategies. The setting `spark.sql.extensions` names this class.
 *
 * The table lists the rules in the order of their runs, also within one step of Spark's.
 *
 * {{{
 * When Spark …                  Rule                           What it does, and why it runs there
 * ----------------------------  -----------------------------  ---------------------------------------------------------------------
 * reads a statement's text      Parser                         asks the planner for the text of a statement that Spark cannot parse
 * resolves hints: the first     EarlyStatements                takes statements that Spark refuses as soon as it resolves their tables
 *   rules of all                ReadBucketSamples              TABLESAMPLE (BUCKET …) is a number of rows until its relation is known
 * resolves a statement          MarkStreamedTables             marks tables that a stream reads, and adds the columns of changes
 * has resolved a statement      ResolveBucketSamples           TABLESAMPLE (BUCKET …) becomes a condition by the table's hash
 *                               ResolveHashFunctions           hive_hash and hive_bucket become expressions, which know char and varchar
 *                               ShowPartitionValues            errors show partitions' values as SQL writes them
 *                               ExpandDroppedPartitions        DROP PARTITION of some columns' values names whole partitions
 *                               AnalyzeStatement               answers ANALYZE TABLE by recorded statistics
 *                               DynamicOverwrite               becomes an append with a mode of ours: Spark refuses V1 writes otherwise
 *                               RepairStatement                MSCK REPAIR TABLE asks the planner
 *                               ShowPartitionsStatement        SHOW PARTITIONS asks the planner
 *                               ShowTablesStatement            SHOW TABLE EXTENDED shows views, too
 *                               ShowCreateTableStatement       SHOW CREATE TABLE shows clauses in place of properties
 *                               DescribeStatement              DESCRIBE adds what the planner knows of a table and a column
 *                               LoadDataStatement              LOAD DATA is refused, with what to do instead
 *                               SeparateDeleteFromCache        a DELETE's table is not replaced by data cached of it
 *                               UnpadTargets                   takes the padding of chars away from tables of DELETE, UPDATE and MERGE
 *                               UntypeWrittenChars             takes the type CHAR from written values, as Spark takes it from the table's columns
 *                               CheckReplaceWhereRows          rows that replace others have to satisfy the condition, too
 *                               EvolveViewSchemas              records the new columns of a view whose query has changed
 *                               RegisterLateRules              puts the five rules below among the optimizer's last rules
 * checks a resolved statement   CheckStreamingModes            refuses streams in the mode update
 * normalizes a plan, before     EndRefresh                     ends the refreshing of a query's tables; first
 *   the optimizer changes it    ExpandChanges                  changes become a union of certain changes and of a comparison of rows
 *                               PadTargetChars                 pads the chars that DELETE, UPDATE and MERGE read
 *                               RecordMergeSearch              records the search columns of a MERGE; needs its ON as written
 *                               NarrowMergeFiles               a MERGE searches files by its clauses' conditions, too
 *                               ReadSourceOnce                 rewrites all files if a source may give other rows the second time
 *                               ExpandRowConditions            writes out short forms in conditions, before Spark takes them apart
 *                               PadRowConditions               puts a char's padding into a condition; after short forms are written out
 *                               ListEqualities                 many equalities of one expression become one IN
 *                               StartAudit                     puts a node above a query that is audited; after all changes of the plan
 * optimizes operators           GuardRowConditions             marks what Spark fails to translate, before it translates a DELETE
 *                               SplitStructEqualities          an equality of structs becomes equalities of fields, before it is a join's key
 *                               PushBelowComparison            conditions on changes choose the rows that are compared
 * is about to push down to      RewriteCharComparisons         names the padding of a char, so that Spark has a form for it
 *   sources                     ExpandTupleIn                  (x, y) IN (…) becomes conditions on columns
 *                               ExtractPartitionPredicates     adds the part of a condition that is about partition columns alone
 *                               EvaluateCommandPredicates      DELETE and REPLACE WHERE by the values that satisfy a condition
 *                               GuardUntranslatablePredicates  marks what Spark fails to translate; after all rules that make conditions
 *                               OfferDirectoryPredicates       gives the table conditions that Spark does not offer a source
 *                               PruneStreamColumns             a stream's batch reads the columns that it uses
 *                               NoteAuditedConditions          notes the conditions above a table, for the audit of its scan
 *                               ForeseeScans                   notes the columns of each scan, so that one question is enough for it; last
 * has optimized all else        SplitHeavyKeys                 joins heavy keys apart: by now scans have their sizes
 *   (RegisterLateRules)         AddRuntimeFilters              puts filters with values of joins: by now scans have their sizes,
 *                                                              IN and EXISTS are joins, and Spark has put its own filters
 *                               PruneByLimit                   a scan below a LIMIT reads only the files that can have its rows
 *                               AnswerAggregates               count, min and max of files that match fully come from the metastore
 *                               JoinInBuckets                  changes scans in buckets so that joins shuffle as few rows as possible
 *                               ListInputFiles                 scans list their files; last, as other rules know only plain scans
 * plans a node                  AuditStrategy                  plans an audited query below the audit's node
 *                               StreamedRowsStrategy           a stream's batch is written by one node, without writers in tasks
 *                               CompareRowsStrategy            rows of changes are compared after a shuffle and a sort
 *                               DeleteStrategy                 a DELETE of all rows finds its table
 *                               RowsStrategy                   DELETE, UPDATE and MERGE hand their rows to the planner
 *                               MarkInsertOnlyMerge            gives a MERGE's write its search columns; plans nothing itself
 *                               ObservedWriteStrategy          a write with `observe` in its query stays within the statement's plan
 *                               ExplainStrategy                EXPLAIN says of joins what they shuffle and sort, and why
 *                               BucketStrategy                 plans the nodes of JoinInBuckets, and puts keys of joins into the order of files
 *                               TupleStrategy                  takes the values of all keys of a tuple
 * prepares a plan to run        DisableFloatCachePruning       Spark loses rows with NaN in cached data
 *                               LimitSubqueryWait              limits the wait for subqueries that run only for their values
 *                               PlanTupleSubqueries            values of several keys come to their scan as tuples
 *                               SortAsFiles                    sorts only what the order of files leaves unsorted; before the next rule
 *                               CheckLayouts                   reads scans without a layout that no node relies on: unused buckets, hot buckets in several tasks
 *                               ReadInOrder                    a top-k reads files by their bounds, and stops when it has its rows
 *                               UseFileScans                   scans become Spark's own scans of files, which native engines know; after rules of our scans
 *                               BroadcastOnce                  repairs a subquery's plan that is prepared twice; after scans have changed
 *                               SeparateScans                  a node with runtime filters has a scan of its own; after all rules that change scans
 *                               AuditDeletes                   compares the rows before and after a DELETE that reads none
 *                               NoteAuditedPlan                marks a plan that is audited, as its stages are looked at alone
 *                               CheckRowLocations              checks that rows are where Spark was told; last, so that it changes no decision
 * }}}
 *
 * Nearly all rules leave a plan at once that names no table of ours (`RuleOfOurs`). The others are about
 * statements whose tables are not known yet, about functions of ours, and about data that Spark has cached.
 *
 * Four of the last rules are registered twice. As rules of query stages, adaptive execution runs them on a
 * whole plan. As rules before columnar transitions, Spark runs them without adaptive execution, too.
 */
class ParquetryExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkSeries.require()
    Rules.addTo(extensions)
  }
}

/**
 * All rules, in an object of their own. Java verifies a class before it runs, and loads the classes that it
 * names. Some rules need classes that another series of Spark lacks, so the class that Spark loads names no
 * rule.
 */
private object Rules {
  def addTo(extensions: SparkSessionExtensions): Unit = {
    UnclosedJars.keepInServer()
    extensions.injectParser((session, inner) => new Parser(session, inner))
    extensions.injectHintResolutionRule(session => EarlyStatements(session))
    extensions.injectHintResolutionRule(_ => ReadBucketSamples)
    extensions.injectResolutionRule(_ => MarkStreamedTables)
    extensions.injectPostHocResolutionRule(_ => ofOurs(ResolveBucketSamples))
    extensions.injectPostHocResolutionRule(_ => ResolveHashFunctions)
    extensions.injectPostHocResolutionRule(_ => ofOurs(ShowPartitionValues))
    extensions.injectPostHocResolutionRule(_ => ofOurs(ExpandDroppedPartitions))
    extensions.injectPostHocResolutionRule(_ => ofOurs(AnalyzeStatement))
    extensions.injectPostHocResolutionRule(_ => ofOurs(DynamicOverwrite))
    extensions.injectPostHocResolutionRule(_ => ofOurs(RepairStatement))
    extensions.injectPostHocResolutionRule(_ => ofOurs(ShowPartitionsStatement))
    extensions.injectPostHocResolutionRule(_ => ShowTablesStatement)
    extensions.injectPostHocResolutionRule(_ => ofOurs(ShowCreateTableStatement))
    extensions.injectPostHocResolutionRule(_ => ofOurs(DescribeStatement))
    extensions.injectPostHocResolutionRule(_ => ofOurs(LoadDataStatement))
    extensions.injectPostHocResolutionRule(_ => ofOurs(SeparateDeleteFromCache))
    extensions.injectPostHocResolutionRule(_ => ofOurs(UnpadTargets))
    extensions.injectPostHocResolutionRule(_ => ofOurs(UntypeWrittenChars))
    extensions.injectPostHocResolutionRule(_ => ofOurs(CheckReplaceWhereRows))
    extensions.injectPostHocResolutionRule(session => ofOurs(EvolveViewSchemas(session)))
    extensions.injectPostHocResolutionRule(session => RegisterLateRules(session))
    extensions.injectCheckRule(_ => CheckStreamingModes)
    extensions.injectTableFunction((TableChanges.name, TableChanges.info, TableChanges.plan))
    extensions.injectPlanNormalizationRule(_ => ofOurs(EndRefresh))
    extensions.injectPlanNormalizationRule(_ => ExpandChanges)
    extensions.injectPlanNormalizationRule(_ => ofOurs(PadTargetChars))
    extensions.injectPlanNormalizationRule(_ => ofOurs(RecordMergeSearch))
    extensions.injectPlanNormalizationRule(_ => ofOurs(NarrowMergeFiles))
    extensions.injectPlanNormalizationRule(_ => ofOurs(ReadSourceOnce))
    extensions.injectPlanNormalizationRule(_ => ofOurs(ExpandRowConditions))
    extensions.injectPlanNormalizationRule(_ => ofOurs(PadRowConditions))
    extensions.injectPlanNormalizationRule(_ => ofOurs(ListEqualities))
    extensions.injectPlanNormalizationRule(session => ofOurs(StartAudit(session)))
    extensions.injectOptimizerRule(_ => ofOurs(GuardRowConditions))
    extensions.injectOptimizerRule(_ => gaining(SplitStructEqualities))
    extensions.injectOptimizerRule(_ => ofOurs(PushBelowComparison))
    extensions.injectPreCBORule(_ => ofOurs(RewriteCharComparisons))
    extensions.injectPreCBORule(_ => gaining(ExpandTupleIn))
    extensions.injectPreCBORule(_ => gaining(ExtractPartitionPredicates))
    extensions.injectPreCBORule(_ => ofOurs(EvaluateCommandPredicates))
    extensions.injectPreCBORule(_ => ofOurs(GuardUntranslatablePredicates))
    extensions.injectPreCBORule(_ => gaining(OfferDirectoryPredicates))
    extensions.injectPreCBORule(_ => ofOurs(PruneStreamColumns))
    extensions.injectPreCBORule(_ => ofOurs(NoteAuditedConditions))
    extensions.injectPreCBORule(_ => gaining(ForeseeScans))
    extensions.injectPlannerStrategy(_ => AuditStrategy)
    extensions.injectPlannerStrategy(_ => StreamedRowsStrategy)
    extensions.injectPlannerStrategy(_ => CompareRowsStrategy)
    extensions.injectPlannerStrategy(_ => DeleteStrategy)
    extensions.injectPlannerStrategy(_ => RowsStrategy)
    extensions.injectPlannerStrategy(_ => MarkInsertOnlyMerge)
    extensions.injectPlannerStrategy(_ => ObservedWriteStrategy)
    extensions.injectPlannerStrategy(_ => ExplainStrategy)
    extensions.injectPlannerStrategy(_ => BucketStrategy)
    extensions.injectPlannerStrategy(session => TupleStrategy(session))
    extensions.injectQueryStagePrepRule(_ => DisableFloatCachePruning)
    extensions.injectColumnar(_ => prepared(DisableFloatCachePruning))
    extensions.injectColumnar(_ => prepared(ofOurs(LimitSubqueryWait)))
    extensions.injectColumnar(_ => prepared(ofOurs(PlanTupleSubqueries)))
    extensions.injectQueryStagePrepRule(_ => gaining(SortAsFiles))
    extensions.injectColumnar(_ => prepared(gaining(SortAsFiles)))
    extensions.injectQueryStagePrepRule(_ => ofOurs(CheckLayouts))
    extensions.injectColumnar(_ => prepared(ofOurs(CheckLayouts)))
    extensions.injectColumnar(_ => prepared(gaining(ReadInOrder)))
    extensions.injectQueryStagePrepRule(session => gaining(UseFileScans(session)))
    extensions.injectQueryStagePrepRule(_ => ofOurs(BroadcastOnce))
    extensions.injectColumnar(session => prepared(gaining(UseFileScans(session))))
    extensions.injectColumnar(_ => prepared(ofOurs(SeparateScans)))
    extensions.injectColumnar(_ => prepared(ofOurs(AuditDeletes)))
    extensions.injectQueryStagePrepRule(_ => ofOurs(NoteAuditedPlan))
    extensions.injectColumnar(_ => prepared(CheckRowLocations))
  }

  private def ofOurs[P <: QueryPlan[P]](rule: Rule[P]): Rule[P] = RuleOfOurs(rule)
  /** A rule that only makes a query faster. */
  private def gaining[P <: QueryPlan[P]](rule: Rule[P]): Rule[P] = RuleOfOurs(rule, gains = true)
  private def prepared(rule: Rule[SparkPlan]): ColumnarRule = new ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = rule
  }
}
