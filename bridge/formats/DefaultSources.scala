// In packages of these names: Spark looks for a class <format>.DefaultSource if no data source has the name.

/** `format("parquetry")`, a habit of Delta's and Iceberg's users. */
package parquetry {
  class DefaultSource extends org.apache.spark.sql.parquetry.formats.FormatOfNames("parquetry")
}

/** Spark uses Delta's own data source if the session has it. So it is with the next ones. */
package delta {
  class DefaultSource extends org.apache.spark.sql.parquetry.formats.FormatOfNames("delta")
}

package iceberg {
  class DefaultSource extends org.apache.spark.sql.parquetry.formats.FormatOfNames("iceberg")
}

package hudi {
  class DefaultSource extends org.apache.spark.sql.parquetry.formats.FormatOfNames("hudi")
}

package paimon {
  class DefaultSource extends org.apache.spark.sql.parquetry.formats.FormatOfNames("paimon")
}

package org.apache.spark.sql.parquetry.formats {

  import java.util

  import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
  import org.apache.spark.sql.connector.expressions.Transform
  import org.apache.spark.sql.parquetry.protocol.ParquetryException
  import org.apache.spark.sql.types.StructType
  import org.apache.spark.sql.util.CaseInsensitiveStringMap

  /**
   * A format that has no files, since tables of a catalog have names. It refuses reads and writes, with what
   * to say instead. `saveAsTable` and `writeTo` do not use it: the catalog decides about the format's name.
   */
  abstract class FormatOfNames(format: String) extends TableProvider {
    override def inferSchema(options: CaseInsensitiveStringMap): StructType = refuse(options)
    override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table =
      refuse(new CaseInsensitiveStringMap(properties))
    override def supportsExternalMetadata(): Boolean = true

    private def refuse(options: CaseInsensitiveStringMap): Nothing = {
      val path = Option(options.get("path"))
      val table = path.filter(text => text.contains(".") && !text.contains("/")).getOrElse("lake.db.t")
      val what = if (format == "parquetry") "Parquetry's tables have names, and no format of a folder"
        else s"This session has no data source $format, and Parquetry's tables have no format of a folder"
      throw new ParquetryException("UNSUPPORTED", s"format('$format')${path.fold("")(" and " + _)}: $what. Read with " +
        s"spark.table('$table') or spark.readStream.table('$table'), and write with df.write.saveAsTable('$table'), df.writeTo('$table') or " +
        s"writeStream.toTable('$table'). A folder of Parquet or ORC files becomes a table by CREATE TABLE … LOCATION '…', and then CALL lake.system.sync.")
    }
  }
}
