package org.apache.spark.sql.parquetry

import scala.collection.mutable

import org.json4s._

import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.PartitionPredicateImpl
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * What the planner answered of one scan: first, and then of values that arrive while the query runs.
 *
 * @param wanted how many buckets Spark is to be told of, and the same files in as many as there are; None: in these
 */
class PlannedFiles private (
    val table: ParquetryTable, val pushed: Seq[PushedPredicate], val required: StructType,
    val options: CaseInsensitiveStringMap, wanted: Option[(Int, PlannedFiles)]) {
  def this(table: ParquetryTable, pushed: Seq[PushedPredicate], required: StructType, options: CaseInsensitiveStringMap) =
    this(table, pushed, required, options, None)

  val (partitionSchema, dataSchema) = {
    val (p, d) = required.fields.partition(f => table.partitionColumns.contains(f.name))
    (StructType(p), StructType(d))
  }
  private val static = pushed.map(_.tree)
  private var runtime = Seq.empty[PushedPredicate]
  val first: ScanAnswer = asked()
  @volatile private var latest = first
  def answer: ScanAnswer = latest

  private def asked(): ScanAnswer = Answers.scan(table.ref.ask("plan_scan", table.identity ++ Seq[JField](
    "predicates" -> JArray(static.toList),
    "runtime" -> JArray(runtime.map(_.tree).toList),
    "columns" -> Json.strings(required.fieldNames),
    Json.readOptions(options), Settings.field) ++ wanted.map { case (count, _) => "buckets" -> JInt(count): JField }: _*), partitionSchema)

  // A query may come to read the files in more buckets than there are, and come back from it: one report tells what it did.

  private val own: PlannedFiles = wanted.fold(this)(_._2)
  private val finer = mutable.Map.empty[Int, PlannedFiles]
  private var chosen = this
  /** As which the files were planned to be read at last. */
  def used: PlannedFiles = own.chosen
  def in(count: Int): PlannedFiles = own.synchronized {
    own.chosen = own.finer.getOrElseUpdate(count, new PlannedFiles(table, pushed, required, options, Some((count, own))))
    own.chosen
  }
  /** The same files in as many buckets as there are. */
  def inTheirOwn: PlannedFiles = {
    own.chosen = own
    own
  }

  /** Those of the values' predicates that the planner understands. */
  def known: Array[Predicate] = runtime.filterNot(_.again).map(_.predicate).toArray

  def narrow(values: Seq[Predicate]): Unit = synchronized {
    if (values.nonEmpty) {
      val again = values.collect { case p: PartitionPredicateImpl => p }
      runtime =
        if (again.isEmpty) runtime ++ table.judge(values, options)
        else runtime.filterNot(_.again) ++ PartitionConditions.evaluate(table, static ++ runtime.map(_.tree), again)
      latest = asked()
    }
  }

  /**
   * The buckets that Spark can be told of. Its function of a column takes the whole of it; and those of several columns it must
   * not take one by one (see `KeyedFilePartition.guards`), nor evaluate.
   */
  lazy val buckets: Option[BucketsAnswer] = first.buckets.filter { found =>
    val conf = SQLConf.get
    def whole(column: String) =
      CharVarcharUtils.replaceCharVarcharWithString(table.logical(column).dataType).sameType(required(column).dataType)
    found.columns.forall { case (column, _) => whole(column) } &&
      (found.columns.length == 1 || !(conf.v2BucketingAllowKeysSubsetOfPartitionKeys || conf.v2BucketingShuffleEnabled))
  }
}
