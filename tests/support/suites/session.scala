package org.apache.spark.sql.parquetry.suites

import scala.jdk.CollectionConverters._

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuiteLike

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.analysis.ResolvePartitionSpec
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.connector._
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{ClusterByTransform, FieldReference}
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.execution.command.v2.CommandSuiteBase
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.{col, regexp_extract, when}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.ParquetryCatalog
import org.apache.spark.sql.test.{SharedSparkSessionBase, TestSparkSession}
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** A suite in the running context: a session of its own takes its settings. The context is not stopped. */
trait OnParquetry extends AnyFunSuiteLike with SharedSparkSessionBase {
  override protected def createSparkSession: TestSparkSession = {
    val running = SparkContext.getActive.getOrElse(throw new IllegalStateException("No SparkContext runs."))
    new SuiteSession(running, sparkConf)
  }

  /** A test of features that only tables in memory have does not link: it fails, but the suite goes on. */
  override def test(testName: String, testTags: Tag*)(testFun: => Any)(implicit pos: Position): Unit =
    super.test(testName, testTags: _*) {
      try testFun
      catch { case error: LinkageError => throw new UnsupportedOperationException(error.toString, error) }
      finally SuiteConf.renew(spark.sessionState.conf)
    }
}

/** A suite with inserts: Parquetry's history reports a commit's numbers, and its own tests check them. */
trait InsertsOnParquetry extends InsertIntoSQLOnlyTests with OnParquetry {
  override def checkInsertMetrics(tableName: String, numInsertedRows: Long): Unit = ()
}

/**
 * A suite of changes of rows: its tables in memory report what was written last. Ours show it by their rows,
 * which are tested with it.
 */
trait RowsOnParquetry extends RowLevelOperationSuiteBase with OnParquetry {
  override protected def checkReplacedPartitions(expected: Seq[Any]): Unit = ()
  override protected def checkLastWriteInfo(
      expectedRowSchema: StructType, expectedRowIdSchema: Option[StructType], expectedMetadataSchema: Option[StructType]): Unit = ()
  override protected def checkLastWriteLog(expectedEntries: WriteLogEntry*): Unit = ()

  /** Tables in memory look for partitions with a match by their columns; ours look for files by a column. */
  override protected def executeAndCheckScans(query: String, primaryScanSchema: String, groupFilterScanSchema: Option[String]): Unit = {
    val plan = executeAndKeepPlan { sql(query) }
    val primary = collect(plan) { case scan: BatchScanExec => scan }.head
    val expected = StructType.fromDDL(primaryScanSchema.replace("_partition STRING, index INT", "_file STRING"))
    assert(DataTypeUtils.sameType(primary.schema, expected))
    val groupFilters = primary.runtimeFilters.collect { case DynamicPruningExpression(in: InSubqueryExec) =>
      collect(in.plan) { case scan: BatchScanExec if scan.schema.fieldNames.contains("_file") => scan }.head.schema.fieldNames.toSet - "_file"
    }
    assert(groupFilters.size === groupFilterScanSchema.size)
    for ((read, allowed) <- groupFilters.zip(groupFilterScanSchema)) assert(read.subsetOf(StructType.fromDDL(allowed).fieldNames.toSet))
  }
}
trait DeletesOnParquetry extends DeleteFromTableSuiteBase with RowsOnParquetry {
  override protected def checkDeleteMetrics(numDeletedRows: Long, numCopiedRows: Long): Unit = ()
}
trait UpdatesOnParquetry extends UpdateTableSuiteBase with RowsOnParquetry {
  override protected def checkUpdateMetrics(numUpdatedRows: Long, numCopiedRows: Long): Unit = ()
}

/**
 * A suite of columns that `SELECT *` leaves out. Tables in memory have the index of a row in its partition,
 * and the partition's values. Ours give the row's index in its file, as each partition is one file here, and
 * the values without the bucket.
 */
trait HiddenColumnsOnParquetry extends DatasourceV2SQLBase with OnParquetry {
  override def registerCatalog[T <: CatalogPlugin](name: String, clazz: Class[T]): Unit =
    if (name == "testcat") super.registerCatalog(name, classOf[HiddenColumnsCatalog]) else super.registerCatalog(name, clazz)

  override def checkAnswer(df: => DataFrame, expected: Seq[Row]): Unit = {
    val given = df
    val named = given.toDF(given.columns.indices.map("c" + _): _*)
    val told = named.schema.map {
      case f @ StructField(_, of: StructType, _, _) if of.fieldNames.contains("row_index") => col(f.name).getField("row_index").cast("int")
      case f if f.dataType == StringType =>
        when(col(f.name).rlike("/pq-[^/]*$"), regexp_extract(col(f.name), "=([^/]*)/[^/]*$", 1)).otherwise(col(f.name))
      case f => col(f.name)
    }
    super.checkAnswer(named.select(told: _*), expected.map(row => Row.fromSeq(row.toSeq.map {
      case place: String if place.matches("\\d+/\\d+") => place.split('/').last
      case other => other
    })))
  }
}

/** A suite of commands: its checks of a partition's location and of a table's clustering fit any table. */
trait CommandsOnParquetry extends CommandSuiteBase with OnParquetry {
  override def checkLocation(t: String, spec: Map[String, String], expected: String): Unit = {
    val catalog +: namespace :+ name = t.split('.').toSeq: @unchecked
    val table = spark.sessionState.catalogManager.catalog(catalog).asInstanceOf[TableCatalog]
      .loadTable(Identifier.of(namespace.toArray, name)).asInstanceOf[SupportsPartitionManagement]
    val partition = ResolvePartitionSpec.convertToPartIdent(spec, table.partitionSchema().fields.toSeq)
    assert(table.loadPartitionMetadata(partition).get("location") === expected)
  }

  /** CLUSTER BY NONE leaves a table without clustering, not with one by no columns. */
  def checkClustering(t: String, columns: Seq[String]): Unit = {
    val catalog +: namespace :+ name = t.split('.').toSeq: @unchecked
    val table = spark.sessionState.catalogManager.catalog(catalog).asInstanceOf[TableCatalog]
      .loadTable(Identifier.of(namespace.toArray, name))
    assert(table.partitioning().toSeq === Seq(ClusterByTransform(columns.map(FieldReference(_)))).filter(_ => columns.nonEmpty))
  }
}

private class SuiteSession(running: SparkContext, settings: SparkConf) extends TestSparkSession(running) {
  override def stop(): Unit = ()
  override def close(): Unit = ()

  override def newTestConf(): SQLConf = new SuiteConf(
    settings.getAll.toMap.filter { case (name, _) =>
      name.startsWith("spark.sql.") && !SuiteSession.ofTheContext(name)
    } ++ testConfOverrides)
}

private object SuiteSession {
  val ofTheContext: Set[String] = Set("spark.sql.extensions", "spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
}

/**
 * Settings that return to the suite's when they are cleared, and show our rules which catalogs are
 * Parquetry's. They give a catalog a new warehouse when it is named; sessions made of this one share the
 * warehouse.
 */
private class SuiteConf(first: Map[String, String]) extends SQLConf {
  clear()
  override def clear(): Unit = {
    super.clear()
    if (first != null) first.foreach { case (name, value) => setConfString(name, value) }
  }
  override def clone(): SQLConf = {
    val copy = new SuiteConf(Map.empty)
    copy.settings.putAll(settings)
    copy
  }
  override def setConfString(name: String, value: String): Unit = {
    super.setConfString(name, value)
    if (SuiteConf.names(name) && SuiteConf.ours(value)) super.setConfString(name + ".warehouse", SuiteCatalog.newWarehouse())
  }
  override def getAllConfs: Map[String, String] = super.getAllConfs.map {
    case (name, of) if SuiteConf.names(name) && SuiteConf.ours(of) =>
      name -> classOf[ParquetryCatalog].getName
    case other => other
  }
}

private object SuiteConf {
  /** A catalog that is made anew is empty, as one in memory is, though its setting stays. */
  def renew(conf: SQLConf): Unit = conf.settings.asScala.toSeq.foreach { case (name, value) =>
    if (names(name) && ours(value)) conf.setConfString(name, value)
  }
  def names(setting: String): Boolean = setting.matches("spark\\.sql\\.catalog\\.[^.]+")
  private val known = scala.collection.concurrent.TrieMap.empty[String, Boolean]
  def ours(name: String): Boolean = known.getOrElseUpdate(name,
    try classOf[SuiteCatalog].isAssignableFrom(Class.forName(name, false, getClass.getClassLoader))
    catch { case _: ClassNotFoundException => false })
}
