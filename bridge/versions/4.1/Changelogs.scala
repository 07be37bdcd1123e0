package org.apache.spark.sql.parquetry.versions

import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.parquetry.protocol.ChangeEnd
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Changes between versions of a table: Spark has an interface for them from 4.2 on. */
object Changelogs {
  trait LoadsChangelogs extends TableCatalog {
    protected def loadChanges(ident: Identifier, start: Option[ChangeEnd], end: Option[ChangeEnd], mode: String,
      updates: Boolean, options: CaseInsensitiveStringMap): Table
  }

  def table(found: Table): Option[Table] = None
}
