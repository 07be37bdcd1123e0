package org.apache.spark.sql.parquetry

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.{Decimal, StructField, StructType}
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnarBatch, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a scan that are no columns of the table, behind all others: the file of a row, and the struct of what is known of it.
 * The readers are given them as values of the file's partition, the struct field by field, as they make no vectors of structs.
 */
class HiddenColumns(table: ParquetryTable, required: StructType) {
  private val file: Option[StructField] = required.find(_.name == table.fileColumn.name)
  private val struct: Option[StructField] = required.find(_.name == table.metadataStruct.name)
  private val inStruct: Seq[StructField] = struct.toSeq.flatMap(_.dataType.asInstanceOf[StructType].fields)

  /** As Spark is given them. */
  val fields: Seq[StructField] = file.map(_ => table.fileColumn.field).toSeq ++ struct
  /** As the readers are. */
  val read: Seq[StructField] = file.map(_ => table.fileColumn.field).toSeq ++ inStruct
  def isEmpty: Boolean = fields.isEmpty
  def names: Set[String] = fields.map(_.name).toSet

  /** A piece of a file with these behind the values of its partition; `path` is the file's as the metastore has it. */
  def beside(piece: PartitionedFile, partition: StructType, path: => String): PartitionedFile =
    if (isEmpty) piece
    else piece.copy(partitionValues = new GenericInternalRow(piece.partitionValues.toSeq(partition).toArray[Any] ++
      file.map(_ => UTF8String.fromString(path)) ++ inStruct.map(f => MetadataStruct.value(f, piece))))

  /** Readers that give the struct in the place of its fields, which follow those of `schema`. */
  def joined(inner: PartitionReaderFactory, schema: StructType): PartitionReaderFactory = struct.fold(inner) { found =>
    val before = schema.fields ++ file
    new StructReaderFactory(inner, StructType(before), found.dataType.asInstanceOf[StructType])
  }
}

/** Makes a struct of the last columns that are read, which are not NULL. */
class StructReaderFactory(inner: PartitionReaderFactory, before: StructType, struct: StructType) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    def column(i: Int, field: StructField): Expression = BoundReference(i, field.dataType, field.nullable)
    val of = struct.zipWithIndex.flatMap { case (f, i) => Seq(Literal(f.name), column(before.length + i, f)) }
    val projection = UnsafeProjection.create(before.zipWithIndex.map { case (f, i) => column(i, f) } :+ CreateNamedStruct(of))
    new Mapped(inner.createReader(partition), projection(_: InternalRow))
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new Mapped(inner.createColumnarReader(partition), (batch: ColumnarBatch) => {
      val columns = Array.tabulate(batch.numCols())(batch.column)
      val (first, last) = columns.splitAt(before.length)
      new ColumnarBatch(first :+ new StructVector(struct, last), batch.numRows())
    })

  private class Mapped[T](reader: PartitionReader[T], change: T => T) extends PartitionReader[T] {
    override def next(): Boolean = reader.next()
    override def get(): T = change(reader.get())
    override def close(): Unit = reader.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  }
}

/** Structs, none of them NULL, of columns that are there. */
class StructVector(struct: StructType, children: Array[ColumnVector]) extends ColumnVector(struct) {
  override def close(): Unit = () // the children are closed by whoever made them
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
