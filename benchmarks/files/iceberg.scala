package parquetry.benchmarks

import java.lang.{Integer => JInt, Long => JLong}
import java.lang.management.ManagementFactory
import java.nio.ByteBuffer
import java.util

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg._
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.types.{Conversions, Type, Types}

/**
 * Apache Iceberg for comparison: a table with the entries of `tables.py`, made through Iceberg's own API, and
 * its planner. Made for Py4J: the methods take and give numbers and text.
 */
class Planning(location: String) {
  private val table = new HadoopTables(new Configuration()).load(location)

  /** Plans for the files that can hold a value of a column between two, both included, and counts them. */
  def between(column: String, first: Long, last: Long): Long = count(Expressions.and(
    Expressions.greaterThanOrEqual(column, first), Expressions.lessThanOrEqual(column, last)))

  def everything(): Long = count(Expressions.alwaysTrue())

  private def count(filter: Expression): Long = {
    val tasks = table.newScan().filter(filter).planFiles()
    try {
      var found = 0L
      tasks.forEach(_ => found += 1)
      found
    } finally tasks.close()
  }

  /** Path of the file that holds the table's newest metadata. */
  def metadata: String = table.asInstanceOf[HasTableOperations].operations().current().metadataFileLocation()

  /** Processor seconds of this JVM, of all its threads. */
  def cpuSeconds: Double = ManagementFactory.getOperatingSystemMXBean
    .asInstanceOf[com.sun.management.OperatingSystemMXBean].getProcessCpuTime / 1e9
}

/** Makes a table, some partitions at a time. `types` are Iceberg's names of the types from column 4 on. */
class Filling(location: String, partitions: Int, files: Int, types: util.List[String]) {
  private val span = 1000000000L
  private val width = 1000L
  private val (fileBytes, fileRows) = (32L << 20, 100000L)
  private val total = partitions.toLong * files
  private val laidOut = Seq("scattered", "ordered", "within")

  private val schema = {
    val fields = new util.ArrayList[Types.NestedField]()
    laidOut.foreach(name => fields.add(Types.NestedField.optional(fields.size + 1, name, Types.LongType.get())))
    types.forEach { name =>
      val number = fields.size - laidOut.size
      fields.add(Types.NestedField.optional(fields.size + 1, s"c$number", Types.fromPrimitiveString(name)))
    }
    fields.add(Types.NestedField.optional(fields.size + 1, "p", Types.IntegerType.get()))
    new Schema(fields)
  }
  private val spec = PartitionSpec.builderFor(schema).identity("p").build()
  private val table = new HadoopTables(new Configuration())
    .create(schema, spec, util.Map.of("write.metadata.metrics.default", "full"), location)

  /** Appends the partitions from one number to another, exclusive, in one commit. */
  def append(from: Int, until: Int): Unit = {
    val commit = table.newFastAppend()
    for (partition <- from until until; place <- 0 until files) {
      val number = partition.toLong * files + place
      val name = f"part-$number%07d-7d2f6a0e-4f0b-4c8e-9b57-3f1f0c7a5d11-c000.snappy.parquet"
      commit.appendFile(DataFiles.builder(spec)
        .withPath(s"$location/data/p=$partition/$name")
        .withFormat(FileFormat.PARQUET)
        .withPartitionPath(s"p=$partition")
        .withFileSizeInBytes(fileBytes)
        .withMetrics(metrics(number))
        .build())
    }
    commit.commit()
  }

  private def metrics(number: Long): Metrics = {
    val (sizes, counts, nulls) =
      (new util.HashMap[JInt, JLong](), new util.HashMap[JInt, JLong](), new util.HashMap[JInt, JLong]())
    val (lower, upper) = (new util.HashMap[JInt, ByteBuffer](), new util.HashMap[JInt, ByteBuffer]())
    def put(id: Int, kind: Type, low: Any, high: Any): Unit = {
      sizes.put(id, 400000L)
      counts.put(id, fileRows)
      nulls.put(id, 0L)
      lower.put(id, Conversions.toByteBuffer(kind, low))
      upper.put(id, Conversions.toByteBuffer(kind, high))
    }
    val bounds = Seq(
      (mixed(number, 0) % span, width), (number * (span / total), span / total),
      (number % files * (span / files), span / files))
    for (((low, wide), i) <- bounds.zipWithIndex) put(i + 1, Types.LongType.get(), low, low + wide - 1)
    for (c <- 0 until types.size) {
      val (kind, random) = (schema.findType(laidOut.size + c + 1), mixed(number, laidOut.size + c))
      put(laidOut.size + c + 1, kind, value(kind, random, 0), value(kind, random, width - 1))
    }
    new Metrics(fileRows, sizes, counts, nulls, new util.HashMap[JInt, JLong](), lower, upper)
  }

  private def value(kind: Type, random: Long, above: Long): Any = kind.typeId() match {
    case Type.TypeID.INTEGER => (random % 1000000L + above).toInt
    case Type.TypeID.DATE => (random % 20000L + above).toInt
    case Type.TypeID.TIMESTAMP => random % 1700000000000000L + above
    case Type.TypeID.DOUBLE => (random % 1000000000000L + above) / 100.0
    case Type.TypeID.STRING => f"${random % 1000000000000L + above}%016x"
    case Type.TypeID.DECIMAL => java.math.BigDecimal.valueOf((random % 1000000000000L + above) / 100, 2)
    case _ => random % 1000000000000L + above
  }

  /** The upper 63 bits of SplitMix64, as in `tables.mixed`. */
  private def mixed(number: Long, salt: Int): Long = {
    var z = number * 32 + salt + 0x9E3779B97F4A7C15L
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL
    (z ^ (z >>> 31)) >>> 1
  }
}
