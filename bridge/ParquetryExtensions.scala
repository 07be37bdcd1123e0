package org.apache.spark.sql.parquetry

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/** `spark.sql.extensions` names this class. */
class ParquetryExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((session, inner) => new Parser(session, inner))
    extensions.injectHintResolutionRule(session => EarlyStatements(session)) // the first rules of all
    extensions.injectPostHocResolutionRule(_ => HashFunctionCalls)
    extensions.injectPostHocResolutionRule(_ => ReadablePartitions)
    extensions.injectPostHocResolutionRule(_ => DropAgreeing)
    extensions.injectPostHocResolutionRule(_ => AnalyzeStatement)
    extensions.injectPostHocResolutionRule(_ => DynamicOverwrite)
    extensions.injectPostHocResolutionRule(_ => RepairStatement)
    extensions.injectPostHocResolutionRule(_ => ShowPartitionsStatement)
    extensions.injectPostHocResolutionRule(_ => ShowCreateTableStatement)
    extensions.injectPostHocResolutionRule(_ => DescribeStatement)
    extensions.injectPostHocResolutionRule(_ => LoadDataStatement)
    extensions.injectPostHocResolutionRule(_ => DeleteFromCached)
    extensions.injectPostHocResolutionRule(_ => RowsOfReplaceWhere)
    extensions.injectPostHocResolutionRule(session => EvolvedViews(session))
    extensions.injectPostHocResolutionRule(session => LateRules(session))
    extensions.injectPostHocResolutionRule(_ => StreamedTables)
    extensions.injectCheckRule(_ => StreamingModes)
    extensions.injectPlanNormalizationRule(_ => MergeSearch)
    extensions.injectPlanNormalizationRule(_ => FilesOfMerge)
    extensions.injectPlanNormalizationRule(_ => RowsOnce)
    extensions.injectPlanNormalizationRule(_ => RowsWrittenOut)
    extensions.injectPlanNormalizationRule(_ => RowsOfChars)
    extensions.injectOptimizerRule(_ => RowsConditions)
    extensions.injectPreCBORule(_ => CharConditions)
    extensions.injectPreCBORule(_ => TuplesByColumns)
    extensions.injectPreCBORule(_ => PartsOnPartitions)
    extensions.injectPreCBORule(_ => ConditionsOfCommands)
    extensions.injectPreCBORule(_ => UntranslatableConditions)
    extensions.injectPreCBORule(_ => ConditionsOnDirectories)
    extensions.injectPreCBORule(_ => StreamColumns)
    extensions.injectPlannerStrategy(_ => StreamedRowsStrategy)
    extensions.injectPlannerStrategy(_ => DeleteStrategy)
    extensions.injectPlannerStrategy(_ => RowsStrategy)
    extensions.injectPlannerStrategy(_ => InsertsOfMerge)
    extensions.injectPlannerStrategy(_ => ObservedWrites)
    extensions.injectPlannerStrategy(_ => BucketStrategy)
    extensions.injectPlannerStrategy(session => TupleStrategy(session))
    extensions.injectQueryStagePrepRule(_ => CachePruning)
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = CachePruning })
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = WaitingTime })
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = TupleSubqueries })
    extensions.injectQueryStagePrepRule(_ => UnusedBuckets)
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = UnusedBuckets })
  }
}
