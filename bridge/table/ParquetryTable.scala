package org.apache.spark.sql.parquetry.table

import java.util

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, ExprId, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{LogicalExpressions, NamedReference, Transform}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.protocol._
import org.apache.spark.sql.parquetry.versions.{Capabilities, Columns, Constraints, Evolution}
import org.apache.spark.sql.parquetry.versions.Constraints.Constraint
import org.apache.spark.sql.parquetry.versions.Definitions.DefinedTable
import org.apache.spark.sql.parquetry.versions.Evolution.SupportsSchemaEvolution
import org.apache.spark.sql.types.{NullType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * How a query uses a table. It is no property of the table's version.
 *
 * @param streamed whether a stream reads the table
 * @param scanned whether the table is described to Spark without its buckets; see `ParquetryTable.scanned`
 * @param past whether the query names the table's version
 * @param onDirectories the query's conditions that Spark evaluates over directories; see
 *   `OfferDirectoryPredicates`
 * @param order the indices of the columns in the planner's order, or empty if they are in that order
 * @param audited the query's conditions on the table, if the query is audited
 */
case class TableUse(
    streamed: Boolean = false, scanned: Boolean = false, past: Boolean = false, onDirectories: Seq[Expression] = Nil, order: Seq[Int] = Nil,
    audited: Option[Seq[Expression]] = None, layout: Seq[Transform] = Nil)

/**
 * One version of a table, as the planner has described it. Every question about it names this version.
 *
 * All packages use this class for tables. The classes that read and write tables are in packages above, so
 * only `LoadedTable` (`catalog`) makes scans and writes.
 */
abstract class ParquetryTable(
    val ref: CatalogRef, protected val answer: TableAnswer, use: TableUse, protected val answers: VersionAnswers)
  extends DefinedTable with SupportsRead with SupportsWrite with SupportsDeleteV2 with SupportsRowLevelOperations
  with SupportsMetadataColumns with SupportsAtomicPartitionManagement with SupportsSchemaEvolution {

  val logical: StructType = answer.schema
  /** The same schema, field by field, under the names that the files use. */
  val physical: StructType = answer.physicalSchema.getOrElse(logical)
  val partitionColumns: Seq[String] = answer.partitionBy
  val format: String = answer.format
  val fileColumn: FileColumn = FileColumn.fromSchema(logical)
  val metadataStruct: MetadataStruct = MetadataStruct.fromSchema(logical, format)
  override def metadataColumns(): Array[MetadataColumn] = Array(fileColumn, metadataStruct)
  /** Whether a reference is to one of these columns, or to a field of one. */
  def isHidden(r: NamedReference): Boolean = metadataColumns().exists(_.name() == r.fieldNames().head)
  /**
   * The clauses that express some of the properties, and the details that DESCRIBE EXTENDED adds to Spark's
   * own rows.
   */
  val clauses: Seq[String] = answer.clauses.values.toSeq
  val details: Seq[(String, String)] = answer.details
  /** The statement that takes in other writers' files in their present state. */
  def sync: String = s"CALL ${ref.name}.system.sync(table => '${name()}')"
  /** Refuses columns of a type that files have not, if this version of Spark neither writes nor reads it. */
  def requireTypes(columns: StructType): Unit =
    ParquetryException.refuseLacking("void columns")(columns.find(_.dataType.existsRecursively(_ == NullType)).map { column =>
      (s"Column ${column.name} of ${name()}", "Read the other columns by name, and write with Spark 4.1 or later.")
    })
  // A rule may change only one of these. Equality compares them, or Spark would drop the rule's result as
  // unchanged.
  def isStreamed: Boolean = use.streamed
  def isScanned: Boolean = use.scanned
  def isPast: Boolean = use.past
  /** The same version, with another description or another use. */
  protected def like(answer: TableAnswer, use: TableUse): ParquetryTable
  /** The same table, for scans of a streaming query. */
  def streamed: ParquetryTable = like(answer, TableUse(streamed = true))
  /** Whether partitions may have directories for heavy values. */
  val hasDirectories: Boolean = answer.directories
  /** Whether it says what its heavy values are, or has them found. */
  def isSkewed: Boolean = hasDirectories || properties().containsKey("skewed-by")
  def onDirectories: Seq[Expression] = use.onDirectories
  /** The same table, for scans of a query with such conditions. */
  def withConditions(conditions: Seq[Expression]): ParquetryTable =
    like(answer, TableUse(scanned = isScanned, past = isPast, onDirectories = conditions))
  /** The query's conditions on the table, if the query is audited. */
  def audited: Option[Seq[Expression]] = use.audited
  def auditedBy(conditions: Seq[Expression]): ParquetryTable = like(answer, use.copy(audited = Some(conditions.map(numbered))))
  /**
   * An expression with its columns by their names here and their positions. A query may spell a name in
   * another letter case, and the same table may have other ids in another place of it.
   */
  def numbered(e: Expression): Expression = e.transform { case a: AttributeReference =>
    logical.indexWhere(field => SQLConf.get.resolver(field.name, a.name)) match {
      case -1 => a
      case index => a.withName(logical(index).name).withExprId(ExprId(index, new util.UUID(0, 0))).withQualifier(Nil)
    }
  }
  /** The same version, named by a query. */
  def past: ParquetryTable = like(answer, use.copy(past = true))
  /** The same table without the properties that clauses express. */
  def withoutClauses: ParquetryTable =
    like(answer.byColumns.copy(properties = answer.properties -- answer.clauses.keys), TableUse())
  /** The same table with its columns in another order: the named ones, then the others. */
  def beginningWith(names: Seq[String]): ParquetryTable = {
    val first = names.map(logical.fieldIndex) // fails if another writer has dropped one since
    val order = first ++ logical.indices.diff(first)
    like(answer.copy(schema = StructType(order.map(logical(_))), physicalSchema = Some(StructType(order.map(physical(_))))), TableUse(order = order))
  }
  /** Reorders the columns of rows from this table's order to the planner's order. */
  def inPlace(rows: DataFrame): DataFrame = if (use.order.isEmpty) rows else {
    val plan = rows.queryExecution.analyzed
    Dataset.ofRows(rows.sparkSession.asInstanceOf[SparkSession],
      Project(use.order.indices.map(i => plan.output(use.order.indexOf(i))), plan))
  }
  val identity: Seq[JField] = Seq("table" -> answer.table.json)

  override def name(): String = answer.name
  /** Database and name. */
  def path: Seq[String] = Seq(answer.table.database, answer.table.table)
  override def id(): String = answer.table.id
  override def version(): String = answer.table.version.toString
  /** The name of this version among all versions of all tables. */
  def versioned: String = s"${name()} $versionKey"
  /** The identity of this version, which a renaming of the table leaves as it is. */
  def versionKey: (String, Long, String) = (answer.table.id, answer.table.version, answer.table.commit)
  override def schema(): StructType = logical // older code of Spark calls it instead of `columns`
  override def columns(): Array[Column] =
    if (FieldIds.areCompared) Columns.of(FieldIds.added(logical, physical), withIds = true)
    else Columns.of(logical, withIds = false)
  override def partitioning(): Array[Transform] = if (use.layout.nonEmpty && SavedLayout.isCompared) use.layout.toArray
  else (partitionColumns.map(n => LogicalExpressions.identity(Schemas.reference(n))) ++ answer.arrangedBy).toArray
  /** The same table, described as partitioned by columns alone. */
  def byColumns: ParquetryTable = like(answer.byColumns, TableUse())
  /** The same table, to write to. `saveAsTable` compares its words with the layout (`SavedLayout`). */
  def written: ParquetryTable = like(answer.byColumns, TableUse(layout = partitioning().toSeq))
  override def constraints(): Array[Constraint] = answer.constraints.map(Constraints.fromAnswer).toArray
  /** The table's buckets, which Spark sees as a partitioning. */
  def bucketing: Option[BucketingAnswer] = answer.bucketing
  def isArranged: Boolean = answer.arrangedBy.nonEmpty
  /**
   * The same, for a scan. Spark evaluates conditions over partitions' values only if a table is partitioned
   * by columns alone.
   */
  def scanned: ParquetryTable = like(answer.byColumns, TableUse(scanned = true, past = isPast))
  override def properties(): util.Map[String, String] = answer.properties.asJava
  override def partitionSchema(): StructType = StructType(partitionColumns.map(logical(_)))
  /** The partition columns with some names, in the order of the names. */
  def partitionColumnsNamed(names: Seq[String]): StructType = StructType(names.map(partitionSchema()(_)))

  override def capabilities(): util.Set[TableCapability] = {
    val all = util.EnumSet.of(
      TableCapability.BATCH_READ,
      TableCapability.BATCH_WRITE, // claimed for OVERWRITE_DYNAMIC's sake: a rule turns that into a V1 write
      TableCapability.V1_BATCH_WRITE,
      TableCapability.MICRO_BATCH_READ,
      TableCapability.STREAMING_WRITE,
      TableCapability.TRUNCATE,
      TableCapability.OVERWRITE_BY_FILTER,
      TableCapability.OVERWRITE_DYNAMIC)
    Evolution.capabilities.foreach(all.add)
    Capabilities.added(all)
  }
  override def supportsColumnChange(change: TableChange.ColumnChange): Boolean =
    ask("can_alter", "change" -> Changes.described(change)).as[HeldAnswer].held

  // Spark finds cached data of a query by comparing its tables: one version of a table is equal whenever it
  // is loaded.
  override def equals(other: Any): Boolean = other match {
    case t: ParquetryTable => t.isStreamed == isStreamed && t.isScanned == isScanned && t.isPast == isPast && t.ref == ref &&
      t.versionKey == versionKey &&
      t.onDirectories.map(_.canonicalized) == onDirectories.map(_.canonicalized) && // Spark merges scans of equal tables
      t.audited.map(_.map(_.canonicalized)) == audited.map(_.map(_.canonicalized))
    case _ => false
  }
  override def hashCode(): Int = versionKey.hashCode()

  protected def ask(op: String, fields: JField*): PlannerAnswer = ref.ask(op, identity ++ fields: _*)
  /** Asks a question about this version that changes nothing, unless the session has its answer. */
  def askOnce(op: String, fields: JField*): PlannerAnswer = answers.of(ref.question(op, identity ++ fields: _*))
  /** Asks a question about several tables of this catalog, unless the session has its answer. */
  def askOfSeveral(op: String, fields: JField*): PlannerAnswer = answers.of(ref.question(op, fields: _*))
  def askOfSeveral(op: String, list: EncodedList, fields: JField*): PlannerAnswer = answers.of(ref.question(op, list, fields: _*))

  /** The planner's answer to predicates that Spark offers. */
  def judge(offered: Seq[Predicate], options: CaseInsensitiveStringMap, more: JField*): Seq[PushedPredicate] =
    judge(offered, options, None, more: _*).predicates

  /** The same, with the plan of the scan that follows if `opensAll` is set; see `ForeseeScans`. */
  def judge(offered: Seq[Predicate], options: CaseInsensitiveStringMap, opensAll: Option[Boolean], more: JField*): JudgedPredicates = {
    val trees = offered.map(Json.ofExpression)
    val scan = for (opens <- opensAll; output <- expected) yield {
      val named = output ++ offered.flatMap(_.references()).map(_.fieldNames().head)
      val opened = opens || output.exists(name => !logical.fieldNames.contains(name))
      opened -> ("scan" -> JObject("columns" -> Json.strings(logical.fieldNames.filter(named)),
        "output" -> Json.strings(logical.fieldNames.filter(output)), "opens_all" -> JBool(opened),
        "estimated" -> JBool(estimated), NativeEngine.question(SparkSession.active)): JField)
    }
    val answer = if (offered.isEmpty) PushedAnswer(Nil, Nil, Nil, None, Nil) else askOnce("push_predicates",
      Seq[JField]("predicates" -> JArray(trees.toList), Json.readOptions(options), Settings.field) ++ scan.map(_._2) ++ more: _*).as[PushedAnswer]
    JudgedPredicates(
      offered.indices.map(i => PushedPredicate(offered(i), trees(i), answer.exact(i), answer.again(i), answer.rowGroups(i))),
      for ((opened, _) <- scan; plan <- answer.scan) yield ForeseenPlan(trees, answer.columns, opened, plan, answer.estimate))
  }

  @volatile private var expected = Option.empty[Set[String]]
  @volatile private var estimated = false
  /**
   * Records the columns that a query needs above its conditions on this table, or None if not known.
   *
   * @param estimated whether the optimizer will want an estimate of the table's scan
   */
  def expect(columns: Option[Set[String]], estimated: Boolean): Unit = {
    expected = columns
    this.estimated = estimated
  }

  // Deleting

  private def where(predicates: Array[Predicate]): JField =
    "predicates" -> JArray(predicates.map(Json.ofExpression).toList)
  override def canDeleteWhere(predicates: Array[Predicate]): Boolean = ask("can_delete", where(predicates)).as[HeldAnswer].held
  override def deleteWhere(predicates: Array[Predicate]): Unit = ask("delete", where(predicates), Settings.field)
  override def truncateTable(): Boolean = ask("truncate", where(Array.empty)).as[HeldAnswer].held

  // Partitions

  private def rows(idents: Array[InternalRow]): JField =
    "partitions" -> JArray(idents.map(Json.ofRow(_, partitionSchema())).toList)

  /**
   * Asks a question about partitions. If some do not exist, or exist already, it raises Spark's own
   * exceptions.
   */
  private def askOf(op: String, gone: Array[InternalRow], there: Array[InternalRow], fields: JField*): PlannerAnswer =
    try ask(op, fields: _*) catch {
      case e: ParquetryException if e.code == "PARTITION_NOT_FOUND" => throw (gone match {
        case Array(one) => new NoSuchPartitionException(name(), one, partitionSchema())
        case several => new NoSuchPartitionsException(name(), several.toSeq, partitionSchema())
      })
      case e: ParquetryException if e.code == "PARTITION_EXISTS" => throw (there match {
        case Array(one) if op == "add_partitions" => new PartitionAlreadyExistsException(name(), one, partitionSchema())
        case several => new PartitionsAlreadyExistException(name(), several.toSeq, partitionSchema())
      })
    }
  override def createPartitions(idents: Array[InternalRow], properties: Array[util.Map[String, String]]): Unit =
    askOf("add_partitions", idents, idents, rows(idents),
      "properties" -> JArray(properties.map(p => Json.strings(p.asScala.toMap)).toList))
  override def dropPartitions(idents: Array[InternalRow]): Boolean =
    askOf("drop_partitions", idents, idents, rows(idents), "purge" -> JBool(false)).as[HeldAnswer].held
  override def purgePartitions(idents: Array[InternalRow]): Boolean =
    askOf("drop_partitions", idents, idents, rows(idents), "purge" -> JBool(true)).as[HeldAnswer].held
  override def purgePartition(ident: InternalRow): Boolean = purgePartitions(Array(ident))
  override def truncatePartitions(idents: Array[InternalRow]): Boolean =
    askOf("truncate_partitions", idents, idents, rows(idents)).as[HeldAnswer].held
  override def truncatePartition(ident: InternalRow): Boolean = truncatePartitions(Array(ident))
  override def renamePartition(from: InternalRow, to: InternalRow): Boolean =
    askOf("rename_partition", Array(from), Array(to), rows(Array(from, to))).as[HeldAnswer].held
  override def replacePartitionMetadata(ident: InternalRow, properties: util.Map[String, String]): Unit =
    ask("alter_partition", rows(Array(ident)), "properties" -> Json.strings(properties.asScala.toMap))
  override def loadPartitionMetadata(ident: InternalRow): util.Map[String, String] =
    askOf("load_partition", Array(ident), Array(ident), rows(Array(ident))).as[PropertiesAnswer].properties.asJava
  override def listPartitionIdentifiers(names: Array[String], ident: InternalRow): Array[InternalRow] = {
    Json.toRows(ask("list_partitions", agreeing(names.toIndexedSeq, ident): _*).as[RowsAnswer].rows, partitionSchema())
  }
  /** The partitions that agree with some values, as `SHOW PARTITIONS` prints them. */
  def partitionNames(names: Seq[String], ident: InternalRow): Seq[String] =
    ask("show_partitions", agreeing(names, ident): _*).as[NamesAnswer].names
  private def agreeing(names: Seq[String], ident: InternalRow): Seq[JField] =
    Seq("names" -> Json.strings(names), "values" -> Json.ofRow(ident, partitionColumnsNamed(names)))
}
