package org.apache.spark.sql.parquetry.table

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.{Decimal, StructField, StructType}
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnarBatch, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a scan that are no columns of the table, after all others: the file of a row, and the struct
 * of the file's metadata.
 *
 * Readers get them as values of the file's partition. The struct comes field by field, as readers make no
 * vectors of structs. Readers count the position of a row in its file themselves, in a column after the
 * file's columns.
 */
class HiddenColumns(table: ParquetryTable, required: StructType) {
  private val file: Option[StructField] = required.find(_.name == table.fileColumn.name)
  private val struct: Option[StructField] = required.find(_.name == table.metadataStruct.name)
  private val (ofRows, inStruct) = struct.toSeq.flatMap(_.dataType.asInstanceOf[StructType].fields).partition(MetadataStruct.isCounted)

  /** The columns as Spark gets them. */
  val fields: Seq[StructField] = file.map(_ => table.fileColumn.field).toSeq ++ struct
  /** The columns as readers get them. */
  val read: Seq[StructField] = file.map(_ => table.fileColumn.field).toSeq ++ inStruct
  /** The column that readers count, if the query reads it. */
  val counted: Seq[StructField] = ofRows.map(_ => MetadataStruct.counter)
  def isEmpty: Boolean = fields.isEmpty
  def names: Set[String] = fields.map(_.name).toSet

  /**
   * A piece of a file, with these values after its partition's values; `path` is the file's path in the
   * metastore.
   */
  def beside(piece: PartitionedFile, partition: StructType, path: => String): PartitionedFile =
    if (isEmpty) piece
    else piece.copy(partitionValues = new GenericInternalRow(piece.partitionValues.toSeq(partition).toArray[Any] ++
      file.map(_ => UTF8String.fromString(path)) ++ inStruct.map(f => MetadataStruct.value(f, piece))))

  /**
   * Readers that combine the struct's fields, which `inner` has after the file's columns and after all other
   * columns.
   */
  def joined(inner: PartitionReaderFactory, data: StructType, partition: StructType): PartitionReaderFactory = struct.fold(inner) { found =>
    val columns = data.fields ++ ofRows ++ partition.fields ++ file ++ inStruct
    val (counters, behind) = (data.length until data.length + ofRows.length, columns.length - inStruct.length)
    val of = found.dataType.asInstanceOf[StructType]
    val parts = of.map(f => if (MetadataStruct.isCounted(f)) counters.head else behind + inStruct.indexOf(f))
    new StructReaderFactory(inner, columns, (0 until behind).filterNot(counters.contains), of, parts)
  }
}

/**
 * Combines some of the columns that are read, which are never NULL, into a struct.
 *
 * @param columns the columns of `inner`
 * @param before the indices of columns that are passed on
 * @param struct follows these columns
 * @param parts the indices of the struct's fields
 */
class StructReaderFactory(
    inner: PartitionReaderFactory, columns: Array[StructField], before: Seq[Int], struct: StructType, parts: Seq[Int])
  extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    def column(i: Int): Expression = BoundReference(i, columns(i).dataType, columns(i).nullable)
    val of = struct.zip(parts).flatMap { case (f, i) => Seq(Literal(f.name), column(i)) }
    val projection = UnsafeProjection.create(before.map(column) :+ CreateNamedStruct(of))
    new Mapped(inner.createReader(partition), projection(_: InternalRow))
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new Mapped(inner.createColumnarReader(partition), (batch: ColumnarBatch) => {
      def columns(places: Seq[Int]): Array[ColumnVector] = places.map(batch.column).toArray
      new ColumnarBatch(columns(before) :+ new StructVector(struct, columns(parts)), batch.numRows())
    })

  private class Mapped[T](reader: PartitionReader[T], change: T => T) extends PartitionReader[T] {
    override def next(): Boolean = reader.next()
    override def get(): T = change(reader.get())
    override def close(): Unit = reader.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  }
}

/** Structs of existing vectors; no struct is NULL. */
class StructVector(struct: StructType, children: Array[ColumnVector]) extends ColumnVector(struct) {
  override def close(): Unit = () // the children's owner closes them
  override def hasNull: Boolean = false
  override def numNulls(): Int = 0
  override def isNullAt(row: Int): Boolean = false
  override def getChild(ordinal: Int): ColumnVector = children(ordinal)
  private def none = throw new UnsupportedOperationException("a struct has no value of its own")
  override def getBoolean(row: Int): Boolean = none
  override def getByte(row: Int): Byte = none
  override def getShort(row: Int): Short = none
  override def getInt(row: Int): Int = none
  override def getLong(row: Int): Long = none
  override def getFloat(row: Int): Float = none
  override def getDouble(row: Int): Double = none
  override def getArray(row: Int): ColumnarArray = none
  override def getMap(row: Int): ColumnarMap = none
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = none
  override def getUTF8String(row: Int): UTF8String = none
  override def getBinary(row: Int): Array[Byte] = none
}
