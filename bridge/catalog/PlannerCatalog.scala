package org.apache.spark.sql.parquetry.catalog

import java.util

import scala.jdk.CollectionConverters._

import org.json4s._

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.parquetry.changes.ChangesTable
import org.apache.spark.sql.parquetry.hash.{BucketFunction, HashFunction}
import org.apache.spark.sql.parquetry.metadata.MetadataTable
import org.apache.spark.sql.parquetry.protocol._
import org.apache.spark.sql.parquetry.table.{Changes, FieldIds, ParquetryTable}
import org.apache.spark.sql.parquetry.versions.Changelogs.LoadsChangelogs
import org.apache.spark.sql.parquetry.versions.Constraints
import org.apache.spark.sql.parquetry.versions.Definitions.{DefiningCatalog, TableInfo}
import org.apache.spark.sql.parquetry.versions.Relations.{Relation, RelationCatalog, View}
import org.apache.spark.sql.types.{Metadata, MetadataBuilder, StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A catalog that gets all its answers from the planner; `ParquetryCatalog` is the class that a session names.
 */
abstract class PlannerCatalog
  extends DefiningCatalog with RelationCatalog with LoadsChangelogs with SupportsNamespaces with ProcedureCatalog with FunctionCatalog {
  private var ref: CatalogRef = _

  override def capabilities(): util.Set[TableCatalogCapability] =
    util.EnumSet.of(TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE, Constraints.capabilities: _*)
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = ref = CatalogRef(name, options)
  override def name(): String = ref.name
  def reference: CatalogRef = ref
  override def defaultNamespace(): Array[String] = Array("default")

  private def at(ident: Identifier): Seq[JField] =
    Seq("namespace" -> Json.strings(ident.namespace()), "name" -> JString(ident.name()))
  private def at(namespace: Array[String]): JField = "namespace" -> Json.strings(namespace)

  // Tables

  override def listTables(namespace: Array[String]): Array[Identifier] =
    ref.ask("list_tables", at(namespace)).as[NamesAnswer].names.map(Identifier.of(namespace, _)).toArray

  private def load(ident: Identifier, more: JField*): Table =
    // a name with more parts is a metadata table, a branch, or not ours, as in SELECT * FROM parquet.`path`
    ident.namespace().length match {
      case 1 => new LoadedTable(ref, ref.ask("load_table", at(ident) ++ more: _*).as[TableAnswer])
      case 2 =>
        val answer = ref.ask("load_metadata_table", at(ident) ++ more: _*).as[MetadataTableAnswer]
        answer.branch.fold[Table](new MetadataTable(ref, answer))(new LoadedTable(ref, _))
      case _ => throw new NoSuchTableException(ident)
    }

  override def loadRelation(ident: Identifier): Relation =
    if (ident.namespace().length != 1) load(ident)
    else descriptions.newest(ident).filter(_ => ref.transaction.isEmpty) match {
      case Some(newest) => described(newest, LoadsTogether.skip(LoadedName(this, ident), newest.table.table))
      case None =>
        val (loaded, group) = LoadsTogether.load(LoadedName(this, ident))(ask)
        loaded.answer.view.fold[Relation](described(
          if (loaded.answer.past) descriptions.past(loaded.answer.table.getOrElse(loaded.known.get.table))
          else if (loaded.answer.unchanged) descriptions.confirm(ident, loaded.known.get, loaded.mark)
          else descriptions.keep(ident, loaded.answer.table.get, loaded.mark), group))(Views.fromAnswer)
    }
  private def described(newest: Description, group: LoadGroup): LoadedTable =
    new LoadedTable(ref, newest.table, answers = newest.answers, group = group)

  /** Loads names of this catalog by one question; see `LoadsTogether.load`. */
  private def ask(names: Seq[LoadedName], beside: Seq[TableRef]): Seq[Option[Loaded]] = {
    val (known, changes, mark) = (names.map(each => descriptions.find(each.name)), Bridge.changes, descriptions.mark)
    val fields = names.zip(known).map { case (each, one) => at(each.name) ++ one.map(found => "known" -> found.table.table.json: JField) }
    val more = if (beside.isEmpty) Nil else Seq[JField]("beside" -> JArray(beside.map(_.json).toList))
    val answers = fields match {
      case Seq(single) => Seq(Some(ref.ask("load_relation", single ++ more: _*).as[RelationAnswer]))
      case several =>
        ref.ask("load_relations", ("relations" -> JArray(several.map(JObject(_: _*)).toList): JField) +: more: _*).as[RelationsAnswer].relations
    }
    answers.zip(known).map { case (answer, one) => answer.map(Loaded(_, one, changes, mark)) }
  }
  private val descriptions = new Descriptions
  override protected def placed(table: Table): Table = table match {
    case ours: ParquetryTable => EvolvedColumns.placed(ours)
    case other => other
  }
  // Spark writes to tables that are partitioned by columns alone
  override def loadTable(ident: Identifier, privileges: util.Set[TableWritePrivilege]): Table = loadTable(ident) match {
    case table: ParquetryTable => EvolvedColumns.placed(table.written)
    case other => other
  }
  override def loadTable(ident: Identifier, version: String): Table = loadPast(ident, "version" -> JString(version))
  override def loadTable(ident: Identifier, timestamp: Long): Table = loadPast(ident, "as_of" -> JInt(timestamp))
  private def loadPast(ident: Identifier, named: JField): Table = load(ident, named) match {
    case table: ParquetryTable => table.past
    case table: MetadataTable => table.past
  }

  /** The changes of a table between versions. */
  def changes(ident: Identifier, start: Option[ChangeEnd], end: Option[ChangeEnd], mode: String, keys: Seq[String]): ChangesTable = {
    def told(end: Option[ChangeEnd]) = end.fold[JValue](JNull)(_.json)
    val answer = ref.ask("load_changes", at(ident) ++ Seq[JField](
      "start" -> told(start), "end" -> told(end), "mode" -> JString(mode), "keys" -> Json.strings(keys)): _*).as[LoadedChangesAnswer]
    ChangesTable(new LoadedTable(ref, answer.table), answer, mode)
  }
  override protected def loadChanges(ident: Identifier, start: Option[ChangeEnd], end: Option[ChangeEnd], mode: String, updates: Boolean,
      options: CaseInsensitiveStringMap): Table = {
    val keys = Option(options.get("keys")).fold(Seq.empty[String])(ChangeKeys.split)
    if (updates && keys.isEmpty) throw new ParquetryException("UNSUPPORTED",
      s"Updates of ${ident.name()} are found by a key, and none is named: say WITH (computeUpdates = 'true', keys = 'id').")
    changes(ident, start, end, mode, keys)
  }

  private def definition(info: TableInfo): Seq[JField] = Seq(
    "schema" -> Json.ofType(StructType(info.columns().map(described))),
    "partitioning" -> JArray(info.partitions().toList.map(transform)),
    "properties" -> Json.strings(info.properties().asScala.toMap),
    "constraints" -> Constraints.ofTable(info))

  private def described(c: Column): StructField = {
    if (c.generationExpression() != null || c.identityColumnSpec() != null) {
      throw new ParquetryException("UNSUPPORTED",
        s"Column ${c.name()}: generated and identity values are not supported; leave the clause out.")
    }
    val metadata = new MetadataBuilder()
    if (c.comment() != null) metadata.putString("comment", c.comment())
    Option(c.metadataInJSON()).map(Metadata.fromJson).filter(FieldIds.isGiven).foreach(m =>
      metadata.putLong(FieldIds.Given, m.getLong(FieldIds.Given)))
    StructField(c.name(), c.dataType(), c.nullable(), Changes.withDefault(metadata.build(), c.dataType(), c.defaultValue()))
  }

  private def transform(t: Transform): JValue = JObject(
    "name" -> JString(t.name()),
    "columns" -> JArray(t.references().map(r => Json.strings(r.fieldNames())).toList),
    "arguments" -> JArray(t.arguments().toList.map(Json.ofExpression)),
    "text" -> JString(t.describe()))

  override def createTable(ident: Identifier, info: TableInfo): Table =
    new LoadedTable(ref, ref.ask("create_table", at(ident) ++ definition(info): _*).as[TableAnswer])

  override def createTableLike(ident: Identifier, info: TableInfo, source: Table): Table =
    new LoadedTable(ref, ref.ask("create_table",
      at(ident) ++ definition(info) :+ ("like" -> Json.strings(source.properties().asScala.toMap)): _*).as[TableAnswer])

  private def stage(ident: Identifier, info: TableInfo, mode: String): StagedTable = {
    val answer = ref.ask("stage_table", at(ident) ++ definition(info) :+ ("mode" -> JString(mode)): _*)
    new StagedParquetryTable(ref, answer.as[TableAnswer], mode)
  }

  override def stageCreate(ident: Identifier, info: TableInfo): StagedTable = stage(ident, info, "create")
  override def stageReplace(ident: Identifier, info: TableInfo): StagedTable = stage(ident, info, "replace")
  override def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable =
    stage(ident, info, "create_or_replace")

  override def alterTable(ident: Identifier, changes: TableChange*): Table = {
    val altered = new LoadedTable(ref,
      ref.ask("alter_table", at(ident) :+ ("changes" -> JArray(changes.toList.map(Changes.described))): _*).as[TableAnswer])
    EvolvedColumns.remember(altered, changes)
    altered
  }

  override def dropTable(ident: Identifier): Boolean = drop(ident, purge = false)
  override def purgeTable(ident: Identifier): Boolean = drop(ident, purge = true)
  private def drop(ident: Identifier, purge: Boolean): Boolean =
    ref.ask("drop_table", at(ident) :+ ("purge" -> JBool(purge)): _*).as[HeldAnswer].held

  override def renameTable(from: Identifier, to: Identifier): Unit =
    ref.ask("rename_table", at(from) :+ ("to" -> Json.strings(to.namespace() :+ to.name())): _*)

  // Views

  override def listViews(namespace: Array[String]): Array[Identifier] =
    ref.ask("list_views", at(namespace)).as[NamesAnswer].names.map(Identifier.of(namespace, _)).toArray

  private def put(ident: Identifier, view: View, mode: String): View = {
    askOfView(ident)(ref.ask("put_view", at(ident) ++ Seq[JField]("view" -> Views.described(view), "mode" -> JString(mode)): _*))
    view
  }
  override def createView(ident: Identifier, view: View): View = put(ident, view, "create")
  override def replaceView(ident: Identifier, view: View): View = put(ident, view, "replace")
  override def createOrReplaceView(ident: Identifier, view: View): View = put(ident, view, "create_or_replace")
  def evolveView(ident: Identifier, schema: StructType): Unit = loadRelation(ident) match {
    case view: View => put(ident, Views.evolved(view, schema), "evolve")
    case _ => throw new NoSuchViewException(ident)
  }
  override def dropView(ident: Identifier): Boolean = ref.ask("drop_view", at(ident): _*).as[HeldAnswer].held
  override def renameView(from: Identifier, to: Identifier): Unit = askOfView(from, to)(
    ref.ask("rename_view", at(from) :+ ("to" -> Json.strings(to.namespace() :+ to.name())): _*))

  /** Turns errors about a table into errors about a view, which Spark expects for views. */
  private def askOfView(ident: Identifier)(ask: => PlannerAnswer): Unit = askOfView(ident, ident)(ask)
  private def askOfView(missing: Identifier, existing: Identifier)(ask: => PlannerAnswer): Unit = try ask catch {
    case _: NoSuchTableException => throw new NoSuchViewException(missing)
    case _: TableAlreadyExistsException => throw new ViewAlreadyExistsException(existing)
  }

  // Namespaces

  override def listNamespaces(): Array[Array[String]] = ref.ask("list_namespaces").as[NamesAnswer].names.map(Array(_)).toArray
  override def listNamespaces(namespace: Array[String]): Array[Array[String]] = {
    if (namespace.isEmpty) return listNamespaces()
    if (!namespaceExists(namespace)) throw new NoSuchNamespaceException(namespace)
    Array.empty
  }
  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] =
    ref.ask("load_namespace", at(namespace)).as[PropertiesAnswer].properties.asJava
  override def createNamespace(namespace: Array[String], metadata: util.Map[String, String]): Unit =
    ref.ask("create_namespace", at(namespace), "properties" -> Json.strings(metadata.asScala.toMap))
  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit =
    ref.ask("alter_namespace", at(namespace), "changes" -> JArray(changes.toList.map {
      case s: NamespaceChange.SetProperty => Changes.setProperty(s.property(), s.value())
      case r: NamespaceChange.RemoveProperty => Changes.removeProperty(r.property())
      case other => throw new ParquetryException("UNSUPPORTED", s"${other.getClass.getSimpleName} on a namespace.")
    }))
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean =
    ref.ask("drop_namespace", at(namespace), "cascade" -> JBool(cascade)).as[HeldAnswer].held

  // Procedures

  override def listProcedures(namespace: Array[String]): Array[Identifier] =
    ref.ask("list_procedures").as[NamesAnswer].names.map(Identifier.of(Array("system"), _)).toArray
  override def loadProcedure(ident: Identifier): UnboundProcedure =
    new ParquetryProcedure(ref, ref.ask("load_procedure", at(ident): _*).as[ProcedureAnswer])

  // Functions

  private val functions = Array("system")
  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    if (namespace.sameElements(functions)) HashFunction.all.keys.toArray.sorted.map(Identifier.of(functions, _))
    else Array.empty
  override def loadFunction(ident: Identifier): UnboundFunction =
    Option.when(ident.namespace().sameElements(functions))(ident.name().toLowerCase(util.Locale.ROOT))
      .flatMap(HashFunction.all.get)
      .orElse(Option.when(ident.namespace().isEmpty)(ident.name()).flatMap(BucketFunction.named)) // of our scans
      .getOrElse(throw new NoSuchFunctionException(ident))
}
