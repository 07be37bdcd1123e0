package org.apache.spark.sql.parquetry.filescans

import java.lang.ref.WeakReference
import java.util.Locale

import scala.collection.immutable.BitSet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.execution.datasources.{FileIndex, FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.parquetry.protocol.{Json, ScanAnswer}
import org.apache.spark.sql.parquetry.readers.FileSplits
import org.apache.spark.sql.parquetry.scan.NodeScan
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}

/**
 * The files of one node's scan, as Spark's own scans of files get them.
 *
 * If the node has runtime filters, each file is a partition of its own, and a column after the table's
 * partition columns has its number. `FilesOfValues` is a condition on that column, so values of any column
 * decide which files are read.
 *
 * @param scan the scan of the node alone
 * @param numbered whether each file is a partition of its own
 * @param hadoop the session's settings of file systems
 */
class ChosenFiles(val scan: NodeScan, numbered: Boolean, hadoop: => Configuration) extends FileIndex {
  private val values = scan.partitionSchema
  /** The column of the number of a file, with a name that no column of the table has. */
  val number: Option[StructField] = Option.when(numbered) {
    val taken = scan.table.logical.fieldNames.map(_.toLowerCase(Locale.ROOT)).toSet
    StructField(Iterator.iterate("file_number")(_ + "_").find(!taken(_)).get, IntegerType, nullable = false)
  }
  override val partitionSchema: StructType = StructType(values.fields ++ number)
  private lazy val folders: Array[Path] = scan.listed.files.folders.map { folder =>
    val path = new Path(folder)
    val system = path.getFileSystem(hadoop)
    path.makeQualified(system.getUri, system.getWorkingDirectory)
  }
  /** One folder of each file system: engines look whether they can read from it. */
  override lazy val rootPaths: Seq[Path] = folders.toSeq.distinctBy(folder => (folder.toUri.getScheme, folder.toUri.getAuthority))

  private lazy val files: Array[FileStatusWithMetadata] = {
    val found = scan.listed.files
    found.eachName.zipWithIndex.map { case (name, i) =>
      FileStatusWithMetadata(new FileStatus(found.bytes(i), false, 1, found.bytes(i), found.modified(i), new Path(folders(found.folder(i)), name)))
    }.toArray
  }

  private lazy val directories: Seq[PartitionDirectory] = {
    val rows = Json.toRows(scan.listed.partitions, values)
    val partitions = scan.listed.files.partition
    if (numbered) files.indices.map(i => PartitionDirectory(ChosenFiles.withNumber(rows(partitions(i)), values, i), Seq(files(i))))
    else files.indices.groupBy(partitions(_)).toSeq.sortBy(_._1).map { case (partition, some) =>
      PartitionDirectory(rows(partition), some.map(files(_)))
    }
  }

  /** All files: no condition leaves out more than the planner did, and Spark evaluates runtime filters. */
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] = directories
  override def inputFiles: Array[String] = files.map(_.getPath.toUri.toString)
  override def refresh(): Unit = () // the files of a version never change
  override def sizeInBytes: Long = scan.listed.statistics.bytes

  // Runtime values

  /** The filters of all copies of this node. An engine may give one copy the values, and ask another copy. */
  private var copies = List.empty[WeakReference[FilesOfValues]]
  private[filescans] def register(filter: FilesOfValues): Unit = synchronized {
    copies = new WeakReference(filter) :: copies.filter(_.get() != null)
  }
  private[filescans] def allFilters: Seq[Expression] = synchronized(copies).flatMap(copy => Option(copy.get())).flatMap(_.filters)

  private var narrowed = Option.empty[(ScanAnswer, BitSet)]
  /** The numbers of the files that filters keep, whose values have arrived. */
  private[filescans] def kept(arrived: Seq[Expression]): BitSet = synchronized {
    val answer = scan.filesOf(arrived)
    narrowed.filter(_._1 eq answer).map(_._2).getOrElse {
      val paths = if (answer eq scan.listed) None else Some(FileSplits.paths(answer).toSet)
      val numbers = BitSet.fromSpecific(FileSplits.paths(scan.listed).zipWithIndex.collect { case (path, i) if paths.forall(_.contains(path)) => i })
      narrowed = Some(answer -> numbers)
      numbers
    }
  }

  // Equal scans let Spark reuse exchanges; Spark itself compares the runtime filters.
  override def equals(other: Any): Boolean = other match {
    case files: ChosenFiles => files.partitionSchema == partitionSchema && files.scan.readsSame(scan)
    case _ => false
  }
  override def hashCode(): Int = scan.hashCode()
  override def toString: String = scan.description()
}

object ChosenFiles {
  private def withNumber(row: InternalRow, schema: StructType, number: Int): InternalRow =
    new GenericInternalRow((row.toSeq(schema) :+ number).toArray[Any])
}
