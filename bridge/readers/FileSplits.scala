package org.apache.spark.sql.parquetry.readers

import scala.collection.mutable

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.parquetry.protocol.{BucketsAnswer, Json, PiecesAnswer, ScanAnswer}
import org.apache.spark.sql.types.StructType

/**
 * Splits the files of a scan, and packs the pieces into partitions for tasks, as Spark's own sources do.
 *
 * @param partitionSchema the partition columns that are read
 * @param constant the data columns that values of files are of, or None to open all files
 * @param told adds the values of hidden columns to a piece of a file, given the file's path
 */
class FileSplits(
    session: SparkSession, answer: ScanAnswer, partitionSchema: StructType, constant: Option[StructType],
    told: (PartitionedFile, => String) => PartitionedFile) {
  private val files = answer.files
  private val most = FilePartition.maxSplitBytes(
    session, files.bytes.map(_ + session.sessionState.conf.filesOpenCostInBytes).sum)

  /** Packs pieces of any files together. */
  def mixed: Array[FilePartition] = answer.order.fold {
    val (counted, opened) = (0 until files.count).partition(isConstant)
    val parts = packed(pieces(opened, most)) ++ packed(counted.map(wholeFile).to(mutable.ArrayBuffer))
    parts.zipWithIndex.map { case (part, i) => if (part.index == i) part else FilePartition(i, part.files) }
  }(order => ranked(order.ranks))

  /** The same for the files without a bucket. */
  def besideBuckets: Array[FilePartition] = packed(pieces((0 until files.count).filter(files.bucket(_) < 0), most))

  /**
   * A partition for each bucket, in their order, with all files of the bucket. Files in no bucket are left
   * out.
   */
  def inPlace(buckets: BucketsAnswer): Array[KeyedFilePartition] = {
    val of = (0 until files.count).groupBy(files.bucket(_))
    Array.tabulate(buckets.count)(bucket => new KeyedFilePartition(
      bucket, pieces(of.getOrElse(bucket % buckets.held, Nil), Long.MaxValue).toArray, bucket, buckets.columns.length))
  }

  /**
   * Packs files by ascending rank. The first partitions have few files each, as these may suffice. Files
   * that need not be opened have partitions of their own.
   */
  private def ranked(ranks: Array[Int]): Array[FilePartition] = {
    val places = ranks.indices.sortBy(ranks(_))
    val ends = Seq(1, 2, 4, 8, 16).filter(_ < places.length) :+ places.length
    (0 +: ends).zip(ends).flatMap { case (start, end) =>
      val (counted, opened) = places.slice(start, end).toIndexedSeq.partition(isConstant)
      Seq(pieces(opened, most).toSeq, counted.map(wholeFile)).flatMap(FilePartition.getFilePartitions(session, _, most))
    }.zipWithIndex.map { case (part, i) => FilePartition(i, part.files) }.toArray
  }

  /**
   * Packs pieces of one bucket together. If files are sorted, each file is whole and by itself.
   *
   * @param together whether all files of a bucket are one partition, each of them whole
   * @param split the buckets that several tasks read
   * @param divided whether each of these tasks reads a part of the bucket's rows, or all of them
   */
  def byBucket(
      buckets: BucketsAnswer, together: Boolean, split: Seq[PiecesAnswer], divided: Boolean): Array[KeyedFilePartition] = {
    val columns = buckets.columns.length
    val of = mutable.LinkedHashMap.empty[Int, mutable.ArrayBuffer[Int]]
    (0 until files.count).foreach(i => of.getOrElseUpdate(files.bucket(i), mutable.ArrayBuffer.empty) += i)
    def packs(found: Seq[PartitionedFile]): Seq[Array[PartitionedFile]] =
      if (together) Seq(found.toArray)
      else if (buckets.order.nonEmpty) found.map(Array(_))
      else packed(mutable.ArrayBuffer.from(found)).map(_.files).toSeq
    def whole(places: mutable.ArrayBuffer[Int]) = pieces(places.toSeq, if (buckets.order.isEmpty) most else Long.MaxValue).toSeq
    val parts = of.toSeq.sortBy(_._1).flatMap { case (bucket, places) =>
      for (key <- bucket until buckets.count by buckets.held; pack <- packs(whole(places))) yield new KeyedFilePartition(0, pack, key, columns)
    }
    val enough = parts ++ KeyedFilePartition.missing(buckets, parts.map(_.bucket).toSet)
    val keys = split.scanLeft(buckets.count.max(columns + 1))(_ + _.pieces - 1)
    val more = split.zip(keys).flatMap { case (each, first) =>
      val own = enough.filter(_.bucket == each.bucket)
      (0 until each.pieces).flatMap { number =>
        val key = if (number == 0) each.bucket else first + number - 1
        if (!divided) own.map(part => new KeyedFilePartition(0, part.files, key, columns))
        else if (each.interleaved) own.map(part => new KeyedFilePartition(0, part.files, key, columns, slice = Some(Slice(number, each.pieces))))
        else packs(FileSplits.range(pieces(of.getOrElse(each.bucket, mutable.ArrayBuffer.empty).toSeq, Long.MaxValue).toSeq, number, each.pieces))
          .map(new KeyedFilePartition(0, _, key, columns))
      }
    }
    // if a scan has no partition at all, Spark ignores the partitioning, and shuffles
    val all = enough.filterNot(part => split.exists(_.bucket == part.bucket)) ++ more
    val some = if (all.isEmpty) Seq(new KeyedFilePartition(0, Array.empty, 0, columns)) else all
    some.zipWithIndex.map { case (part, i) => part.of(i, part.files) }.toArray
  }

  private def packed(pieces: mutable.ArrayBuffer[PartitionedFile]): Array[FilePartition] =
    FilePartition.getFilePartitions(session, pieces.sortBy(-_.length).toSeq, most).toArray

  private lazy val values = constant.fold(Array.empty[InternalRow])(Json.toRows(files.values, _))
  private def isConstant(place: Int): Boolean = constant.isDefined && files.rows.nonEmpty && files.rows(place) >= 0
  /** A file that is not opened. It counts as empty, so that a task gets many. */
  private def wholeFile(i: Int): PartitionedFile = {
    val file = PartitionedFile(partitions(files.partition(i)), folders(files.folder(i)).file(names(i)), 0, 0, Array.empty[String],
      files.modified(i), files.bytes(i), Map.empty)
    ConstantFiles.of(file, files.rows(i), values(files.value(i)))
  }

  private lazy val names = files.eachName.toArray
  private lazy val folders = files.folders.map(new FolderPaths(_))
  private lazy val partitions = Json.toRows(answer.partitions, partitionSchema)
  private def pieces(places: Seq[Int], most: Long): mutable.ArrayBuffer[PartitionedFile] = {
    val found = mutable.ArrayBuffer.empty[PartitionedFile]
    places.foreach { i =>
      val (path, size) = (folders(files.folder(i)).file(names(i)), files.bytes(i))
      val values = partitions(files.partition(i))
      var start = 0L
      while (start < size) {
        val length = math.min(most, size - start)
        val piece = PartitionedFile(values, path, start, length, Array.empty[String], files.modified(i), size, Map.empty)
        found += told(piece, files.folders(files.folder(i)) + "/" + names(i))
        start += length
      }
    }
    found
  }
}

object FileSplits {
  /**
   * Returns one of several ranges of whole files, by their bytes. Readers take the row groups that begin in a
   * range, or have their middle in it, so each is in one range.
   */
  def range(files: Seq[PartitionedFile], number: Int, of: Int): Seq[PartitionedFile] = {
    val total = files.map(_.length).sum
    val (from, until) = (total * number / of, total * (number + 1) / of)
    files.zip(files.scanLeft(0L)(_ + _.length)).flatMap { case (file, begin) =>
      val (start, end) = ((from - begin).max(0), (until - begin).min(file.length))
      Option.when(start < end)(file.copy(start = start, length = end - start))
    }
  }

  /**
   * The same partitions, with only the files in `left`. Runtime values must never change which partition
   * reads a file: when they arrive, Spark has already paired the partitions of both sides of a join.
   */
  def narrowed(parts: Array[KeyedFilePartition], left: ScanAnswer): Array[KeyedFilePartition] = {
    val kept = paths(left).toSet
    parts.map(part => part.of(part.index, part.files.filter(file => kept(file.filePath))))
  }

  def paths(answer: ScanAnswer): Seq[SparkPath] = {
    val folders = answer.files.folders.map(new FolderPaths(_))
    answer.files.eachName.toSeq.zipWithIndex.map { case (name, i) => folders(answer.files.folder(i)).file(name) }
  }
}

/**
 * Makes Spark's paths for the files of a folder. They equal `fromPathString`, which takes 20 microseconds a
 * path.
 */
class FolderPaths(folder: String) {
  private val isPlain = FolderPaths.plain.matcher(folder).matches()

  def file(name: String): SparkPath = {
    val path = folder + "/" + name
    if (isPlain && FolderPaths.isPlain(name)) SparkPath.fromUrlString(path) else SparkPath.fromPathString(path)
  }
}

object FolderPaths {
  // Paths that Hadoop's `Path` does not change: no dots or slashes to resolve, no character to encode.
  private val plain = java.util.regex.Pattern.compile(
    "([a-z][a-z0-9+]*:(//[A-Za-z0-9.:-]*)?)?(/[A-Za-z0-9_=][A-Za-z0-9._=-]*)+")

  private def isPlain(name: String): Boolean =
    name.nonEmpty && name.charAt(0) != '.' && name.charAt(0) != '-' && name.forall { c =>
      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=' || c == '.' || c == '-'
    }
}
