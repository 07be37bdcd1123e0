package org.apache.spark.sql.parquetry.readers

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData, ResolveDefaultColumns}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.orc.OrcColumnVector
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnarBatch, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/**
 * Fills in defaults that Spark's batch readers cannot fill in if a file lacks the column (Spark 4.3.0). They
 * fail for BINARY, VARIANT, wide decimals, and NULL within lists and structs. For a map they give the default
 * to one row, and empty maps to the others.
 *
 * The readers do not know of such a default. They make a vector of NULLs for the column, and a vector of the
 * default replaces it.
 */
object FilledDefaults {
  /** The defaults to fill in, by the indices of their columns. */
  def fromSchema(columns: StructType): Map[Int, Any] =
    if (!columns.exists(_.getExistenceDefaultValue().isDefined)) Map.empty
    else ResolveDefaultColumns.existenceDefaultValues(columns).zipWithIndex.collect { case (value, i) if value != null && isSpoiled(columns(i).dataType, value) => i -> value }.toMap

  private def isSpoiled(of: DataType, value: Any): Boolean = (of, value) match {
    case (_, null | _: Array[Byte] | _: VariantVal | _: MapData) => true
    case (_, decimal: Decimal) => decimal.precision > Decimal.MAX_LONG_DIGITS
    case (ArrayType(element, _), array: ArrayData) => array.toObjectArray(element).exists(isSpoiled(element, _))
    case (struct: StructType, row: InternalRow) => row.toSeq(struct).zip(struct).exists { case (each, f) => isSpoiled(f.dataType, each) }
    case _ => false
  }

  /** The columns, without the defaults at these indices. */
  def without(columns: StructType, places: collection.Set[Int]): StructType = StructType(columns.fields.zipWithIndex.map { case (field, i) =>
    if (places(i)) field.copy(metadata = new MetadataBuilder().withMetadata(field.metadata).remove("EXISTS_DEFAULT").build()) else field
  })

  /** A vector with one value in all rows. */
  def vector(of: DataType, value: Any): ColumnVector = {
    val one = new OnHeapColumnVector(1, of)
    append(one, of, value)
    new RepeatedVector(one)
  }

  private def append(to: WritableColumnVector, of: DataType, value: Any): Unit = (of, value) match {
    case (_: StructType | _: VariantType, null) => to.appendStruct(true)
    case (_, null) => to.appendNull()
    case (struct: StructType, row: InternalRow) =>
      to.appendStruct(false)
      row.toSeq(struct).zipWithIndex.foreach { case (each, i) => append(to.getChild(i), struct(i).dataType, each) }
    case (_: VariantType, variant: VariantVal) =>
      to.appendStruct(false)
      Seq(variant.getValue, variant.getMetadata).zipWithIndex.foreach { case (bytes, i) => append(to.getChild(i), BinaryType, bytes) }
    case (ArrayType(element, _), array: ArrayData) =>
      to.appendArray(array.numElements())
      array.toObjectArray(element).foreach(append(to.arrayData(), element, _))
    case (MapType(key, element, _), map: MapData) =>
      to.appendArray(map.numElements())
      map.keyArray().toObjectArray(key).foreach(append(to.getChild(0), key, _))
      map.valueArray().toObjectArray(element).foreach(append(to.getChild(1), element, _))
    case (_, bytes: Array[Byte]) => to.appendByteArray(bytes, 0, bytes.length)
    case (decimal: DecimalType, number: Decimal) if DecimalType.isByteArrayDecimalType(decimal) =>
      append(to, BinaryType, number.toJavaBigDecimal.unscaledValue.toByteArray)
    case _ => to.appendObjects(1, value)
  }
}

/**
 * Fills in defaults if a file lacks the column.
 *
 * @param inner reads files in batches, even if it says that it supports only rows
 * @param orc whether the files are ORC files
 * @param columns the columns of the files, which come before all others in a batch
 * @param defaults by the indices of their columns
 */
class FilledDefaultsFactory(inner: PartitionReaderFactory, orc: Boolean, columns: StructType, defaults: Map[Int, Any])
  extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = inner.supportColumnarReads(partition)

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = new PartitionReader[ColumnarBatch] {
    private val reader = inner.createColumnarReader(partition)
    private val filled = defaults.map { case (i, value) => i -> FilledDefaults.vector(columns(i).dataType, value) }
    override def next(): Boolean = reader.next()
    override def get(): ColumnarBatch = {
      val batch = reader.get()
      new ColumnarBatch((0 until batch.numCols()).map(i => (batch.column(i), filled.get(i)) match {
        case (read, Some(default)) if isMissing(read) => default
        case (read, _) => read
      }).toArray, batch.numRows())
    }
    override def close(): Unit = reader.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  }

  /**
   * Whether a vector stands for a column that the file lacks. Parquet's reader marks such a vector; ORC's
   * reader has its own class of vectors for all other columns.
   */
  private def isMissing(read: ColumnVector): Boolean = read match {
    case _: OrcColumnVector => false
    case vector: WritableColumnVector => vector.isAllNull || orc
    case _ => false
  }

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = new PartitionReader[InternalRow] {
    private val batches = createColumnarReader(partition)
    private var rows: java.util.Iterator[InternalRow] = java.util.Collections.emptyIterator()
    override def next(): Boolean = {
      while (!rows.hasNext && batches.next()) rows = batches.get().rowIterator()
      rows.hasNext
    }
    override def get(): InternalRow = rows.next()
    override def close(): Unit = batches.close()
    override def currentMetricsValues(): Array[CustomTaskMetric] = batches.currentMetricsValues()
  }
}

/** A vector that repeats the first value of another one in each row. */
class RepeatedVector(one: ColumnVector) extends ColumnVector(one.dataType) {
  override def close(): Unit = () // the memory is the JVM's
  override def hasNull: Boolean = one.hasNull
  override def numNulls(): Int = throw new UnsupportedOperationException("it has no number of rows")
  override def isNullAt(row: Int): Boolean = one.isNullAt(0)
  override def getChild(ordinal: Int): ColumnVector = new RepeatedVector(one.getChild(ordinal))
  override def getBoolean(row: Int): Boolean = one.getBoolean(0)
  override def getByte(row: Int): Byte = one.getByte(0)
  override def getShort(row: Int): Short = one.getShort(0)
  override def getInt(row: Int): Int = one.getInt(0)
  override def getLong(row: Int): Long = one.getLong(0)
  override def getFloat(row: Int): Float = one.getFloat(0)
  override def getDouble(row: Int): Double = one.getDouble(0)
  override def getArray(row: Int): ColumnarArray = one.getArray(0)
  override def getMap(row: Int): ColumnarMap = one.getMap(0)
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = one.getDecimal(0, precision, scale)
  override def getUTF8String(row: Int): UTF8String = one.getUTF8String(0)
  override def getBinary(row: Int): Array[Byte] = one.getBinary(0)
}
