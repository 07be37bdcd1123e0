package org.apache.spark.sql.parquetry.readers

import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.sql.Timestamp
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.{GroupType, MessageType, PrimitiveType}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.sources
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Filters for Parquet's row groups whose literals fit the types that a file has. A file may have a narrower
 * type than the table: its column was widened since, or another writer wrote it. Spark 4.3.0 compares a
 * decimal's scale with the file's, and not its size. It takes the last bytes of a number that is too large
 * for the file's integers, and fails if it is too large for the file's bytes:
 *
 *     DECIMAL(9, 0) became DECIMAL(18, 0), v < 4294967301      in the file's integers, v < 5
 *
 * So such filters are not given to the reader of that file. A time between two milliseconds is compared as
 * the earlier one in files of milliseconds; there `<` becomes `<=`, which is right in every file.
 */
object FittingFilters {
  /** Returns filters that every file can compare with its times, in microseconds or milliseconds. */
  def inAnyUnit(filters: Array[sources.Filter]): Array[sources.Filter] = filters.flatMap(inAnyUnit(_))

  private def inAnyUnit(filter: sources.Filter): Option[sources.Filter] = filter match {
    case sources.LessThan(column, value) if isBetweenMillis(value) => Some(sources.LessThanOrEqual(column, value))
    case sources.And(left, right) => (inAnyUnit(left), inAnyUnit(right)) match {
      case (Some(l), Some(r)) => Some(sources.And(l, r))
      case (one, other) => one.orElse(other)
    }
    case sources.Or(left, right) => for (l <- inAnyUnit(left); r <- inAnyUnit(right)) yield sources.Or(l, r)
    case sources.Not(inner) if literals(inner).exists(found => isBetweenMillis(found._2)) => None
    case other => Some(other)
  }

  private def isBetweenMillis(value: Any): Boolean = value match {
    case time: Timestamp => time.getNanos % 1000000 != 0
    case time: Instant => time.getNano % 1000000 != 0
    case _ => false
  }

  /** Whether a filter has a decimal that does not fit a number of bits. */
  def hasDecimals(bits: Int)(filter: sources.Filter): Boolean =
    literals(filter).exists { case (_, value: JBigDecimal) => value.unscaledValue.bitLength >= bits; case _ => false }

  /** Whether a filter's decimals fit the types of a file. */
  def fits(filter: sources.Filter, file: MessageType): Boolean = literals(filter).forall {
    case (path, value: JBigDecimal) => leaves(file, path).forall(fits(value.unscaledValue, _))
    case _ => true
  }

  private def fits(unscaled: BigInteger, file: PrimitiveType): Boolean = file.getPrimitiveTypeName match {
    case INT32 => unscaled.bitLength < Integer.SIZE
    case INT64 => unscaled.bitLength < java.lang.Long.SIZE
    case FIXED_LEN_BYTE_ARRAY => unscaled.bitLength < java.lang.Byte.SIZE * file.getTypeLength
    case _ => true
  }

  /** The columns of a file at a path of names, in any letter case. */
  private def leaves(within: GroupType, path: Seq[String]): Seq[PrimitiveType] =
    within.getFields.asScala.toSeq.filter(field => path.headOption.exists(_.equalsIgnoreCase(field.getName))).flatMap {
      case primitive: PrimitiveType if path.length == 1 => Some(primitive)
      case group: GroupType => leaves(group, path.tail)
      case _ => None
    }

  /** The literals of a filter, each with the path of the column that it is compared with. */
  private def literals(filter: sources.Filter): Seq[(Seq[String], Any)] = filter match {
    case sources.And(left, right) => literals(left) ++ literals(right)
    case sources.Or(left, right) => literals(left) ++ literals(right)
    case sources.Not(inner) => literals(inner)
    case leaf => leaf.v2references.toSeq.flatMap(path => values(leaf).map(path.toSeq -> _))
  }

  private def values(leaf: sources.Filter): Seq[Any] = leaf match {
    case sources.In(_, values) => values.toSeq
    case sources.EqualTo(_, value) => Seq(value)
    case sources.EqualNullSafe(_, value) => Seq(value)
    case sources.LessThan(_, value) => Seq(value)
    case sources.LessThanOrEqual(_, value) => Seq(value)
    case sources.GreaterThan(_, value) => Seq(value)
    case sources.GreaterThanOrEqual(_, value) => Seq(value)
    case _ => Nil
  }
}

/**
 * Spark's readers of Parquet files. The readers of a partition get the filters that fit the partition's
 * files.
 *
 * A file's types are in its footer. The footer is read once more if a filter might not fit. In other writers'
 * files, almost any filter on a decimal might not fit. In the table's own files, a decimal of 32 bits or
 * fewer always fits: Spark writes no shorter form of a decimal, except in its legacy format.
 *
 * @param inner the readers with all filters
 * @param withoutDecimals the readers with the filters that fit every file; made on the driver, as Spark's
 *   settings are not available elsewhere
 * @param own a part of the names of the table's own files, and of no others
 * @param legacy whether this session writes the legacy format
 */
class FittingFilterReaders(
    inner: ParquetPartitionReaderFactory, withoutDecimals: PartitionReaderFactory, own: String, legacy: Boolean)
  extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = fitting(partition).createReader(partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    fitting(partition).createColumnarReader(partition)

  private def fitting(partition: InputPartition): PartitionReaderFactory = partition match {
    case files: FilePartition =>
      val any = legacy || inner.filters.exists(FittingFilters.hasDecimals(Integer.SIZE))
      val doubtful = files.files.iterator.map(_.toPath).distinct.filter(path => any || !path.getName.contains(own))
      if (doubtful.flatMap(types).forall(file => inner.filters.forall(FittingFilters.fits(_, file)))) inner else withoutDecimals
    case _ => inner
  }

  /**
   * A file's types, or None if its footer cannot be read. In that case the reader raises the error, or skips
   * the file.
   */
  private def types(path: Path): Option[MessageType] = try {
    val conf = inner.broadcastedConf.value.value
    val options = HadoopReadOptions.builder(conf, path).withMetadataFilter(SKIP_ROW_GROUPS).build()
    Using.resource(ParquetFileReader.open(HadoopInputFile.fromPath(path, conf), options))(file => Some(file.getFileMetaData.getSchema))
  } catch { case NonFatal(_) => None }
}

object FittingFilterReaders {
  def apply(inner: ParquetPartitionReaderFactory, own: String): PartitionReaderFactory = {
    val (doubtful, fitting) = inner.filters.partition(FittingFilters.hasDecimals(java.lang.Byte.SIZE))
    if (doubtful.isEmpty) inner
    else new FittingFilterReaders(inner, inner.copy(filters = fitting), own, inner.sqlConf.writeLegacyParquetFormat)
  }
}
