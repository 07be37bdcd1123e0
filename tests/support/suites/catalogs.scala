package org.apache.spark.sql.connector.catalog

import java.nio.file.{Files, Paths}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.analysis.{NamespaceAlreadyExistsException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.parquetry.ParquetryCatalog
import org.apache.spark.sql.parquetry.catalog.LoadedTable
import org.apache.spark.sql.parquetry.protocol.{CatalogRef, TableAnswer}
import org.apache.spark.sql.parquetry.table.{FileColumn, MetadataStruct, ParquetryTable, TableUse}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A catalog of Parquetry's where Spark's suites have one in memory. It does for a test what is not
 * Parquetry's affair: it has a warehouse of its own, and makes a database with the first table in it. A
 * database within others (which Parquetry does not have) has dots in its name. A format that only the tests
 * know is Parquet.
 */
abstract class SuiteCatalog extends ParquetryCatalog {
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    val folder = Option(options.get("warehouse")).getOrElse(SuiteCatalog.newWarehouse())
    super.initialize(name, new CaseInsensitiveStringMap(util.Map.of("warehouse", folder)))
  }
  override def defaultNamespace(): Array[String] = Array.empty

  private def joined(namespace: Array[String]): Array[String] =
    if (namespace.isEmpty) Array("default") else Array(namespace.mkString("."))
  private def joined(ident: Identifier): Identifier = Identifier.of(joined(ident.namespace()), ident.name())
  private def isMade(namespace: Array[String]): Boolean =
    try { super.loadNamespaceMetadata(namespace); true } catch { case _: NoSuchNamespaceException => false }
  private def made(ident: Identifier): Identifier = {
    val there = joined(ident)
    if (!isMade(there.namespace())) super.createNamespace(there.namespace(), util.Map.of())
    there
  }
  /** The table under the name that the suite knows it by. */
  private def named[T](ident: Identifier, relation: T): T = {
    relation match {
      case table: ParquetryTable =>
        val field = SuiteCatalog.answer
        val parts = name() +: ident.namespace() :+ ident.name()
        field.set(table, field.get(table).asInstanceOf[TableAnswer].copy(name = parts.map(quoteIfNeeded).mkString(".")))
      case _ =>
    }
    relation
  }
  protected def known(info: TableInfo): TableInfo = {
    val provider = info.properties().get(TableCatalog.PROP_PROVIDER)
    if (provider == null || Set("parquet", "orc").contains(provider.toLowerCase(util.Locale.ROOT))) return info
    val properties = info.properties().asScala.toMap - TableCatalog.PROP_PROVIDER
    new TableInfo.Builder().withColumns(info.columns()).withPartitions(info.partitions())
      .withProperties(properties.asJava).withConstraints(info.constraints()).build()
  }

  override def listTables(namespace: Array[String]): Array[Identifier] =
    listed(namespace)(super.listTables).map(found => Identifier.of(namespace, found.name()))
  private def listed(namespace: Array[String])(list: Array[String] => Array[Identifier]): Array[Identifier] =
    try list(joined(namespace)) catch { case _: NoSuchNamespaceException if namespaceExists(namespace) => Array.empty }
  override def loadRelation(ident: Identifier): Relation = read(of(ident)(super.loadRelation(joined(ident))))
  /** The relation that a query reads. */
  protected def read(relation: Relation): Relation = relation
  override def loadTable(ident: Identifier): Table = loadRelation(ident) match {
    case table: Table => table
    case _ => throw new NoSuchTableException(ident)
  }
  override def loadTable(ident: Identifier, version: String): Table = of(ident)(super.loadTable(joined(ident), version))
  override def loadTable(ident: Identifier, at: Long): Table = of(ident)(super.loadTable(joined(ident), at))
  private def of[T](ident: Identifier)(load: => T): T =
    named(ident, try load catch { case _: NoSuchTableException => throw new NoSuchTableException(ident) })

  override def createTable(
      ident: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): Table =
    createTable(ident, new TableInfo.Builder().withColumns(columns).withPartitions(partitions).withProperties(properties).build())
  override def createTable(ident: Identifier, info: TableInfo): Table = named(ident, super.createTable(made(ident), known(info)))
  override def createTableLike(ident: Identifier, info: TableInfo, source: Table): Table =
    named(ident, super.createTableLike(made(ident), known(info), source))
  override def stageCreate(ident: Identifier, info: TableInfo): StagedTable =
    named(ident, super.stageCreate(made(ident), known(info)))
  override def stageReplace(ident: Identifier, info: TableInfo): StagedTable =
    named(ident, super.stageReplace(joined(ident), known(info)))
  override def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable =
    named(ident, super.stageCreateOrReplace(made(ident), known(info)))
  override def alterTable(ident: Identifier, changes: TableChange*): Table =
    named(ident, super.alterTable(joined(ident), changes: _*))
  override def dropTable(ident: Identifier): Boolean = super.dropTable(joined(ident))
  override def purgeTable(ident: Identifier): Boolean = super.purgeTable(joined(ident))
  override def renameTable(from: Identifier, to: Identifier): Unit = super.renameTable(joined(from), made(to))

  override def listViews(namespace: Array[String]): Array[Identifier] =
    listed(namespace)(super.listViews).map(found => Identifier.of(namespace, found.name()))
  override def createView(ident: Identifier, view: View): View = super.createView(made(ident), view)
  override def replaceView(ident: Identifier, view: View): View = super.replaceView(joined(ident), view)
  override def createOrReplaceView(ident: Identifier, view: View): View = super.createOrReplaceView(made(ident), view)
  override def dropView(ident: Identifier): Boolean = super.dropView(joined(ident))
  override def renameView(from: Identifier, to: Identifier): Unit = super.renameView(joined(from), made(to))

  /** All databases, split; `default`, which exists from the beginning, is left out while it is empty. */
  private def all: Array[Array[String]] = super.listNamespaces().map(_.head)
    .filter(name => name != "default" || super.listTables(Array(name)).nonEmpty).map(_.split("\\."))
  override def listNamespaces(): Array[Array[String]] = within(Array.empty)
  override def listNamespaces(namespace: Array[String]): Array[Array[String]] =
    if (namespaceExists(namespace)) within(namespace) else throw new NoSuchNamespaceException(namespace)
  private def within(outer: Array[String]): Array[Array[String]] =
    all.filter(n => n.length > outer.length && n.startsWith(outer)).map(_.take(outer.length + 1).toSeq).distinct.map(_.toArray)
  override def namespaceExists(namespace: Array[String]): Boolean =
    namespace.isEmpty || isMade(joined(namespace)) || within(namespace).nonEmpty
  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] =
    if (namespace.isEmpty || !isMade(joined(namespace)) && within(namespace).nonEmpty) util.Map.of()
    else super.loadNamespaceMetadata(joined(namespace))
  override def createNamespace(namespace: Array[String], metadata: util.Map[String, String]): Unit =
    try super.createNamespace(joined(namespace), metadata)
    catch { case _: NamespaceAlreadyExistsException => throw new NamespaceAlreadyExistsException(namespace) }
  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit =
    super.alterNamespace(joined(namespace), changes: _*)
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean =
    super.dropNamespace(joined(namespace), cascade)
}

object SuiteCatalog {
  val answer: java.lang.reflect.Field = classOf[ParquetryTable].getDeclaredFields.find(_.getType == classOf[TableAnswer]).get
  answer.setAccessible(true)

  /** Where all warehouses are; the process that runs the suites removes it. */
  private lazy val warehouses = Paths.get(System.getProperty("parquetry.suites.warehouses"))
  def newWarehouse(): String = Files.createTempDirectory(warehouses, "of").resolve("warehouse").toString
}

// The names of the catalogs in Spark's suites: on the class path, these come before Spark's. Of the features
// that only catalogs in memory have, these have what suites set before their tests.
class BasicInMemoryTableCatalog extends SuiteCatalog {
  private val invalidated = util.concurrent.ConcurrentHashMap.newKeySet[Identifier]()
  override def invalidateTable(ident: Identifier): Unit = invalidated.add(ident)
  def isTableInvalidated(ident: Identifier): Boolean = invalidated.contains(ident)
}
class InMemoryTableCatalog extends BasicInMemoryTableCatalog
class InMemoryCatalog extends InMemoryTableCatalog
class StagingInMemoryTableCatalog extends InMemoryCatalog
class InMemoryPartitionTableCatalog extends InMemoryTableCatalog
class InMemoryTableWithV2FilterCatalog extends InMemoryTableCatalog
class InMemoryRowLevelOperationTableCatalog extends InMemoryTableCatalog {
  var nextTxnRejectRegisteredScansAttempt: Boolean = false
}

/**
 * A catalog for Spark's suite of columns that `SELECT *` leaves out. Ours have the names that tables in
 * memory give them: a row's file is `_partition`, and the file's metadata is `index`. Buckets by a partition
 * column, which Parquetry lacks, are left out.
 */
class HiddenColumnsCatalog extends InMemoryTableCatalog {
  override protected def read(relation: Relation): Relation = relation match {
    case table: ParquetryTable => new HiddenColumnsTable(table.ref, SuiteCatalog.answer.get(table).asInstanceOf[TableAnswer])
    case other => other
  }
  override protected def known(info: TableInfo): TableInfo = {
    val columns = info.partitions().filter(_.name() == "identity").flatMap(_.references()).map(_.describe())
    val left = info.partitions().filterNot(p => p.name() == "bucket" && p.references().forall(r => columns.contains(r.describe())))
    super.known(new TableInfo.Builder().withColumns(info.columns()).withPartitions(left).withProperties(info.properties())
      .withConstraints(info.constraints()).build())
  }
}

private class HiddenColumnsTable(ref: CatalogRef, answer: TableAnswer, use: TableUse = TableUse()) extends LoadedTable(ref, answer, use) {
  override val fileColumn: FileColumn = FileColumn(FileColumn.free("_partition", logical))
  override val metadataStruct: MetadataStruct = MetadataStruct(FileColumn.free("index", logical), format != "orc")
  override def metadataColumns(): Array[MetadataColumn] = super.metadataColumns().reverse // in the order of tables in memory
  override def streamed: ParquetryTable = new HiddenColumnsTable(ref, answer, TableUse(streamed = true))
}
