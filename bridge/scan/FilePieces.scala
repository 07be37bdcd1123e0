package org.apache.spark.sql.parquetry

import scala.collection.mutable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/** Cuts and packs the files of a scan into what its tasks read, as Spark's own sources do. */
class FilePieces(session: SparkSession, answer: ScanAnswer) {
  private val files = answer.files
  private val most = FilePartition.maxSplitBytes(
    session, files.bytes.map(_ + session.sessionState.conf.filesOpenCostInBytes).sum)

  /** Pieces of any files together. */
  def mixed: Array[FilePartition] = packed((0 until files.count).flatMap(pieces(_, most)))

  /** Pieces of one bucket together; where files are sorted, each by itself and whole. */
  def byBucket(buckets: BucketsAnswer): Array[KeyedFilePartition] = {
    val columns = buckets.columns.length
    val of = mutable.LinkedHashMap.empty[Int, mutable.ArrayBuffer[Int]]
    (0 until files.count).foreach(i => of.getOrElseUpdate(files.bucket(i), mutable.ArrayBuffer.empty) += i)
    val parts = of.toSeq.sortBy(_._1).flatMap { case (bucket, places) =>
      val packs =
        if (buckets.order.nonEmpty) places.map(i => pieces(i, Long.MaxValue).toArray).filter(_.nonEmpty).toSeq
        else packed(places.toSeq.flatMap(pieces(_, most))).map(_.files).toSeq
      for (key <- bucket until buckets.count by buckets.held; pack <- packs) yield KeyedFilePartition.of(key, columns, pack)
    } ++ KeyedFilePartition.guards(columns)
    // of no partition at all Spark believes nothing, and shuffles
    val some = if (parts.isEmpty) Seq(KeyedFilePartition.of(0, columns, Array.empty)) else parts
    some.zipWithIndex.map { case (part, i) => part.of(i, part.files) }.toArray
  }

  private def packed(pieces: Seq[PartitionedFile]): Array[FilePartition] =
    FilePartition.getFilePartitions(session, pieces.sortBy(-_.length), most).toArray

  private lazy val names = files.names.toArray
  private lazy val folders = files.folders.map(new FolderPaths(_))
  private def pieces(i: Int, most: Long): Seq[PartitionedFile] = {
    val (path, size) = (folders(files.folder(i)).file(names(i)), files.bytes(i))
    (0L until size by math.min(most, math.max(size, 1L))).map(start => PartitionedFile(answer.partitions(files.partition(i)), path, start,
      math.min(most, size - start), Array.empty[String], files.modified(i), size, Map.empty))
  }
}

object FilePieces {
  /**
   * The same partitions with those of their files that are left. Values that arrive at run time must never change which partition
   * reads a file: Spark has paired the partitions of both sides of a join by then.
   */
  def narrowed(parts: Array[KeyedFilePartition], left: ScanAnswer): Array[KeyedFilePartition] = {
    val folders = left.files.folders.map(new FolderPaths(_))
    val paths = left.files.names.zipWithIndex.map { case (name, i) => folders(left.files.folder(i)).file(name) }.toSet
    parts.map(part => part.of(part.index, part.files.filter(file => paths(file.filePath))))
  }
}
