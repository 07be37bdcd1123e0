package org.apache.spark.sql.parquetry.versions

import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.v2.ChangelogTable
import org.apache.spark.sql.parquetry.protocol.ChangeEnd
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Changes between versions of a table, by Spark's own interface. */
object Changelogs {
  /** Loads changes for `CHANGES FROM VERSION` and `spark.read.changes`. */
  trait LoadsChangelogs extends ChangelogOptions {
    /**
     * Loads the changes of a range of versions.
     *
     * @param updates whether updates are wanted as pairs
     */
    protected def loadChanges(ident: Identifier, start: Option[ChangeEnd], end: Option[ChangeEnd], mode: String,
      updates: Boolean, options: CaseInsensitiveStringMap): Table

    override def loadChangelog(ident: Identifier, context: ChangelogContext, options: CaseInsensitiveStringMap): Changelog = {
      val (start, end) = context.range() match {
        case r: ChangelogRange.VersionRange => (Some(ChangeEnd(Some(r.startingVersion()), None, r.startingBoundInclusive())),
          r.endingVersion().toScala.map(v => ChangeEnd(Some(v), None, r.endingBoundInclusive())))
        case r: ChangelogRange.TimestampRange => (Some(ChangeEnd(None, Some(r.startingTimestamp()), r.startingBoundInclusive())),
          r.endingTimestamp().toScala.map(t => ChangeEnd(None, Some(t.longValue), r.endingBoundInclusive())))
        case _ => (None, None)
      }
      val mode = context.deduplicationMode() match {
        case ChangelogContext.DeduplicationMode.NONE => "raw"
        case ChangelogContext.DeduplicationMode.NET_CHANGES => "net"
        case _ => "each"
      }
      new LoadedChangelog(loadChanges(ident, start, end, mode, context.computeUpdates(), options))
    }
  }

  /** Changes that need none of Spark's own steps, which want a unique id and a version of each row. */
  private class LoadedChangelog(val table: Table) extends Changelog {
    override def name(): String = table.name()
    override def columns(): Array[Column] = table.columns()
    override def containsCarryoverRows(): Boolean = false
    override def containsIntermediateChanges(): Boolean = false
    override def representsUpdateAsDeleteAndInsert(): Boolean = false
    override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = table.asInstanceOf[SupportsRead].newScanBuilder(options)
  }

  /** The table that Spark has put into a table of changes, if it is ours. */
  def table(found: Table): Option[Table] = found match {
    case changes: ChangelogTable => Some(changes.changelog).collect { case loaded: LoadedChangelog => loaded.table }
    case _ => None
  }
}
