package org.apache.spark.sql.parquetry.streaming

import java.time.ZoneId

import org.json4s._

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.util.{CharVarcharUtils, DateTimeUtils}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.parquetry.audit.{AuditFailure, AuditOutcome, ReadRows, ScanAudit, StartAudit}
import org.apache.spark.sql.parquetry.protocol.{AuditMode, Json, ParquetryException, PlannerAnswer, PositionAnswer, ScanAnswer, Settings}
import org.apache.spark.sql.parquetry.readers.FileSplits
import org.apache.spark.sql.parquetry.scan.AuditScans
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** A stream's position, in the planner's form. */
class StreamOffset(override val json: String) extends Offset

/** Stands for the limits in the options of a read; only the planner interprets these. */
object LimitsOfOptions extends ReadLimit {
  override def toString: String = "limits of the options"
}

/**
 * Streams the new files of a table, version by version. The planner says where the stream begins, how far a
 * batch goes, and which files it reads.
 *
 * @param checkpoint the folder of this stream in the query's checkpoint
 * @param of the query's own stream, if this one reads only a part of its columns and rows; else None
 */
class TableStream(scan: StreamScan, checkpoint: String, of: Option[TableStream]) extends MicroBatchStream with SupportsTriggerAvailableNow {
  import scan.{options, table}

  private val known: TableStream = of.fold(this)(_.known)
  /** The columns and conditions, if this stream reads only a part. */
  private val reads = of.map(_ => (scan.readSchema(), scan.pushed.map(_.tree)))
  /**
   * If two scans of a plan have equal streams, Spark considers the scans equal, and reads only one. So
   * streams with other columns or conditions must differ. To count a stream's rows, Spark compares the
   * streams in the plan with the query's own stream, so each of them equals that one.
   */
  override def equals(other: Any): Boolean = other match {
    case stream: TableStream => (stream.known eq known) && (reads.isEmpty || stream.reads.isEmpty || stream.reads == reads)
    case _ => false
  }
  override def hashCode(): Int = System.identityHashCode(known)
  override def toString: String = scan.description()

  /** The same stream with another scan. */
  def narrowedTo(narrower: StreamScan): TableStream = new TableStream(narrower, checkpoint, Some(known))

  private def ask(op: String, fields: JField*): PlannerAnswer =
    table.ref.ask(op, table.identity ++ (Json.readOptions(options) +: fields): _*)
  private def offset(answer: PlannerAnswer): StreamOffset = new StreamOffset(answer.as[PositionAnswer].position)
  private def text(offset: Offset): JValue = Option(offset).fold[JValue](JNull)(o => JString(o.json()))

  // Where batches begin and end

  override def initialOffset(): Offset = new FirstOffset(SparkSession.active, checkpoint).orElse(
    offset(ask("begin_stream", "starting_at" -> startingAt.fold[JValue](JNull)(JInt(_)))))
  override def deserializeOffset(json: String): Offset = new StreamOffset(json)

  private def startingAt: Option[Long] = Option(options.get("startingTimestamp")).map { given =>
    val zone: ZoneId = DateTimeUtils.getZoneId(SQLConf.get.sessionLocalTimeZone)
    DateTimeUtils.stringToTimestamp(UTF8String.fromString(given), zone).getOrElse(throw new ParquetryException("PROPERTY",
      s"The option startingTimestamp of the streaming read is '$given': not a time such as 2026-11-23 08:00:00."))
  }

  @volatile private var until: JValue = JNull
  override def prepareForTriggerAvailableNow(): Unit = until = JString(reportLatestOffset().json())

  override def getDefaultReadLimit: ReadLimit = LimitsOfOptions
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = offset(ask("advance_stream",
    "start" -> text(start), "until" -> until, "limited" -> JBool(limit != ReadLimit.allAvailable())))
  override def latestOffset(): Offset = throw new UnsupportedOperationException("A batch is asked for by where it begins, and by limits.")
  override def reportLatestOffset(): Offset =
    offset(ask("advance_stream", "start" -> JNull))

  // What a batch reads

  private var planned = Option.empty[((String, String), Array[InputPartition])]
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = synchronized {
    val batch = (start.json(), end.json())
    if (!planned.exists(_._1 == batch)) {
      val answer = files(start, end, scan, scan.pushed.map(_.tree))
      scan match {
        case narrow: NarrowScan if narrow.pushed.nonEmpty && AuditMode.isOn && StartAudit.isDrawn => audit(start, end, narrow, answer)
        case _ => ()
      }
      planned = Some((batch, scan.partitions(answer).toArray[InputPartition]))
    }
    planned.get._2
  }

  /** Whether rows of a batch of changes have to be compared. */
  def compares(start: Offset, end: Offset): Boolean =
    files(start, end, scan, Nil).report \ "compared" == JBool(true)

  private def files(start: Offset, end: Offset, scan: StreamScan, predicates: Seq[JValue]): ScanAnswer = ask("plan_batch",
    "start" -> text(start), "end" -> text(end),
    "predicates" -> JArray(predicates.toList),
    "columns" -> Json.strings(scan.required.fieldNames.filterNot(scan.hidden.names)),
    Settings.field).as[ScanAnswer]

  /** Reads the files of a batch that its conditions leave out: no row of them may satisfy all conditions. */
  private def audit(start: Offset, end: Offset, narrow: NarrowScan, answer: ScanAnswer): Unit = {
    val session = SparkSession.active.asInstanceOf[SparkSession]
    val conditions = narrow.conditions.filter(e => e.deterministic && e.references.forall(a => table.logical.fieldNames.contains(a.name)) &&
      !SubqueryExpression.hasSubquery(e))
    val names = conditions.flatMap(_.references.map(_.name)).toSet
    val plain = new StreamScan(table, CharVarcharUtils.replaceCharVarcharWithStringInSchema(
      StructType(table.logical.filter(field => names(field.name)))), Nil, options)
    val all = files(start, end, plain, Nil)
    val kept = FileSplits.paths(answer).toSet
    val leftOut = plain.files(all).map(part =>
      part.copy(files = part.files.filterNot(file => kept(file.filePath)))).filter(_.files.nonEmpty)
    val rows = ScanAudit.frame(new ReadRows(session, leftOut.toArray[InputPartition], plain.readerFactory), plain.readSchema())
    if (leftOut.nonEmpty) ScanAudit.among(rows, conditions).limit(1).collect().headOption.foreach { row =>
      throw AuditFailure.ofFile(LocalRelation(), table, row.getAs[String](ScanAudit.filePath), conditions, row, AuditScans.steps(answer.report))
    }
    AuditOutcome.checked.addAndGet(leftOut.map(_.files.length).sum)
  }
  override def createReaderFactory(): PartitionReaderFactory = scan.readerFactory

  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}
