// In Spark's package for Hive, since its client is visible only there.
package org.apache.spark.sql.hive.parquetry

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.parse

import org.apache.hadoop.hive.metastore.{IMetaStoreClient, TableType, Warehouse}
import org.apache.hadoop.hive.metastore.api._
import org.apache.hadoop.hive.ql.metadata.Hive
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic
import org.apache.spark.sql.hive.HiveExternalCatalog
import org.apache.spark.sql.hive.client.HiveClientImpl
import org.apache.spark.sql.parquetry.protocol.ParquetryException

/** Writes the planner's records (JSON, see `maintenance.hive_record`) to the session's Hive metastore. */
object HiveTables {
  /** Returns the parameters of a table, or null if no table has this name. */
  def parameters(session: SparkSession, database: String, table: String): java.util.Map[String, String] =
    withMetastore(session) { metastore =>
      if (metastore.tableExists(database, table)) metastore.getTable(database, table).getParameters else null
    }

  /** Creates a table, and its database if necessary, or changes the table if `there`. */
  def putTable(session: SparkSession, json: String, there: Boolean): Unit = withMetastore(session) { metastore =>
    val table = tableOf(parse(json))
    if (there) {
      table.setCreateTime(metastore.getTable(table.getDbName, table.getTableName).getCreateTime)
      metastore.alter_table(table.getDbName, table.getTableName, table)
    } else {
      if (!metastore.getAllDatabases.contains(table.getDbName)) {
        metastore.createDatabase(new Database(table.getDbName, null, null, new java.util.HashMap()))
      }
      metastore.createTable(table)
    }
  }

  /** The names of a table's partitions, as Hive writes them. */
  def partitionNames(session: SparkSession, database: String, table: String): java.util.List[String] =
    withMetastore(session)(_.listPartitionNames(database, table, (-1).toShort))

  /** Adds partitions, or changes existing ones if `there`. */
  def putPartitions(session: SparkSession, json: String, partitions: String, there: Boolean): Unit =
    withMetastore(session) { metastore =>
      val table = tableOf(parse(json))
      val told = list(parse(partitions)).map(partitionOf(table, _)).asJava
      if (there) metastore.alter_partitions(table.getDbName, table.getTableName, told)
      else metastore.add_partitions(told)
    }

  /** Drops partitions by their names; their files stay. */
  def dropPartitions(session: SparkSession, database: String, table: String, names: java.util.List[String]): Unit =
    withMetastore(session) { metastore =>
      names.forEach { name => metastore.dropPartition(database, table, Warehouse.getPartValuesFromPartName(name), false) }
    }

  /** The name of a partition, as Hive writes it. */
  def partitionName(columns: java.util.List[String], values: java.util.List[String]): String =
    org.apache.hadoop.hive.common.FileUtils.makePartName(columns, values)

  private def withMetastore[T](session: SparkSession)(use: IMetaStoreClient => T): T =
    session.asInstanceOf[classic.SparkSession].sharedState.externalCatalog.unwrapped match {
      case catalog: HiveExternalCatalog => catalog.client match {
        case client: HiveClientImpl => client.withHiveState(use(Hive.get(client.conf).getMSC))
        case _ => throw new ParquetryException("CONFIGURATION",
          "Spark loads Hive's client from elsewhere: leave spark.sql.hive.metastore.jars at 'builtin' to publish tables.")
      }
      case _ => throw new ParquetryException("CONFIGURATION",
        "This session knows no Hive metastore: make it with .enableHiveSupport(), and say where the metastore is " +
          "(spark.hadoop.hive.metastore.uris, or a hive-site.xml).")
    }

  private def tableOf(json: JValue): Table = {
    val table = new Table()
    table.setDbName(text(json, "database"))
    table.setTableName(text(json, "name"))
    table.setOwner(text(json, "owner"))
    table.setCreateTime((System.currentTimeMillis() / 1000).toInt)
    table.setTableType(TableType.EXTERNAL_TABLE.toString)
    table.setPartitionKeys(columns(json \ "partition_columns"))
    table.setParameters(parametersOf(json))
    table.putToParameters("EXTERNAL", "TRUE")
    table.setSd(storage(json \ "storage", columns(json \ "columns")))
    table
  }

  private def partitionOf(table: Table, json: JValue): Partition = {
    val partition = new Partition()
    partition.setDbName(table.getDbName)
    partition.setTableName(table.getTableName)
    partition.setValues(texts(json \ "values"))
    partition.setCreateTime(table.getCreateTime)
    partition.setParameters(parametersOf(json))
    partition.setSd(storage(json \ "storage", table.getSd.getCols))
    partition
  }

  private def storage(json: JValue, columns: java.util.List[FieldSchema]): StorageDescriptor = {
    val storage = new StorageDescriptor()
    storage.setCols(columns)
    storage.setLocation(text(json, "location"))
    storage.setInputFormat(text(json, "input_format"))
    storage.setOutputFormat(text(json, "output_format"))
    val one = new java.util.HashMap[String, String](java.util.Map.of("serialization.format", "1"))
    storage.setSerdeInfo(new SerDeInfo(null, text(json, "serde"), one))
    storage.setParameters(new java.util.HashMap())
    val buckets = json \ "buckets"
    storage.setNumBuckets((buckets \ "count") match { case JInt(count) => count.toInt; case _ => -1 })
    storage.setBucketCols(texts(buckets \ "columns"))
    storage.setSortCols(list(buckets \ "sort").map { case JArray(List(JString(column), JBool(down))) =>
      new Order(column, if (down) 0 else 1)
    }.asJava)
    val skew = json \ "skew"
    val skewed = new SkewedInfo()
    skewed.setSkewedColNames(texts(skew \ "columns"))
    skewed.setSkewedColValues(new java.util.ArrayList(list(skew \ "values").map(texts).asJava))
    skewed.setSkewedColValueLocationMaps(new java.util.HashMap(list(skew \ "locations").map {
      case JArray(List(values, JString(location))) => texts(values) -> location
    }.toMap.asJava))
    storage.setSkewedInfo(skewed)
    storage.setStoredAsSubDirectories(skew \ "directories" == JBool(true))
    storage
  }

  private def columns(json: JValue): java.util.List[FieldSchema] = new java.util.ArrayList(list(json).map { each =>
    new FieldSchema(text(each, "name"), text(each, "type"), (each \ "comment") match { case JString(c) => c; case _ => null })
  }.asJava)
  private def parametersOf(json: JValue): java.util.Map[String, String] = new java.util.HashMap((json \ "parameters") match {
    case JObject(fields) => fields.collect { case (key, JString(value)) => key -> value }.toMap.asJava
    case _ => java.util.Map.of[String, String]()
  })
  private def text(json: JValue, field: String): String = (json \ field) match { case JString(text) => text; case _ => "" }
  private def texts(json: JValue): java.util.List[String] =
    new java.util.ArrayList(list(json).collect { case JString(text) => text }.asJava)
  private def list(json: JValue): List[JValue] = json match { case JArray(items) => items; case _ => Nil }
}
