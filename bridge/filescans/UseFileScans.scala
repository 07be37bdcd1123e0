package org.apache.spark.sql.parquetry.filescans

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.BucketSpec
import org.apache.spark.sql.catalyst.expressions.{
  Attribute, AttributeReference, Expression, InputFileBlockLength, InputFileBlockStart, InputFileName, PlanExpression, PredicateHelper}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ValidateRequirements
import org.apache.spark.sql.parquetry.scan.{NodeScan, ParquetryScan}
import org.apache.spark.sql.parquetry.versions.Bucketing
import org.apache.spark.sql.types.{DoubleType, FloatType, StructField, StructType}

/**
 * Replaces scans by Spark's own scan of files, where the planner says so: native engines know that node, and
 * no node of ours. Which files are read stays the planner's decision, also when runtime values arrive.
 *
 * Buckets by Spark's own hash are reported as Spark's own tables report theirs, if that satisfies the nodes
 * of the whole plan, and no table is joined with itself. Otherwise all scans in buckets keep their form.
 */
case class UseFileScans(session: SparkSession) extends Rule[SparkPlan] with PredicateHelper {
  override def apply(plan: SparkPlan): SparkPlan = if (!plan.exists(candidate(_).isDefined)) plan else {
    // Comet confuses two scans of one table that it reads in one task, as both sides of a bucketed join are.
    val bucketed = inBuckets(plan).map(_.table.name())
    // Spark's node that brings the tasks of buckets together knows no other scan's buckets.
    val grouped = plan.exists(node => Bucketing.groups(node) && inBuckets(node).nonEmpty)
    val mayBeInBuckets = bucketed.nonEmpty && bucketed.distinct.length == bucketed.length && !grouped
    val hindrance = Option.when(plan.exists(_.expressions.exists(_.exists(isOfFile))))("the query asks for the names of files")
    Option.when(mayBeInBuckets)(replaced(plan, inBuckets = true, hindrance)).filter(ValidateRequirements.validate)
      .getOrElse(replaced(plan, inBuckets = false, hindrance))
  }

  private def inBuckets(plan: SparkPlan): Seq[ParquetryScan] =
    plan.collect(Function.unlift(candidate)).filter(_.buckets.exists(_.version == "spark"))

  /** Whether an expression depends on the file, whose name Spark's scan may spell otherwise. */
  private def isOfFile(e: Expression): Boolean =
    e.isInstanceOf[InputFileName] || e.isInstanceOf[InputFileBlockStart] || e.isInstanceOf[InputFileBlockLength]

  private def replaced(plan: SparkPlan, inBuckets: Boolean, hindrance: Option[String]): SparkPlan = plan.transformDown {
    case filter @ FilterExec(condition, node: BatchScanExec) =>
      candidate(node).filter(_.becomesFileScan(inBuckets, hindrance)).fold[SparkPlan](filter) { scan =>
        filter.withNewChildren(Seq(fileScan(node, scan, splitConjunctivePredicates(condition))))
      }
    case node: BatchScanExec =>
      candidate(node).filter(_.becomesFileScan(inBuckets, hindrance)).fold[SparkPlan](node)(fileScan(node, _, Nil))
  }

  private def candidate(plan: SparkPlan): Option[ParquetryScan] = plan match {
    case node: BatchScanExec => node.scan match {
      case scan: ParquetryScan => Some(scan).filter(_.mayBeFileScan)
      case _ => None
    }
    case _ => None
  }

  private def fileScan(node: BatchScanExec, scan: ParquetryScan, conditions: Seq[Expression]): SparkPlan = {
    val files = new ChosenFiles(new NodeScan(scan), node.runtimeFilters.nonEmpty, session.asInstanceOf[ClassicSession].sessionState.newHadoopConf())
    val partitions = scan.partitionSchema.fieldNames.map(name => node.output.find(_.name == name).get)
    val data = node.output.filterNot(partitions.contains)
    val number = files.number.map(field => AttributeReference(field.name, field.dataType, field.nullable)())
    val relation = HadoopFsRelation(
      files, files.partitionSchema, plain(scan.fileSchema), bucketing(scan), new ParquetFileFormat, Map.empty)(session.asInstanceOf[ClassicSession])
    val made = FileSourceScanExec(
      relation = relation, stream = None, output = data ++ partitions ++ number,
      requiredSchema = plain(StructType(data.map(column => StructField(column.name, column.dataType)))),
      partitionFilters = number.map(FilesOfValues(_, node.runtimeFilters.map(FilesOfValues.hidden), files)).toSeq,
      optionalBucketSet = None, optionalNumCoalescedBuckets = None,
      dataFilters = conditions.filter(usable(_, data)), tableIdentifier = Some(named(scan)))
    made.copyTagsFrom(node)
    if (made.output == node.output) made
    else {
      val project = ProjectExec(node.output, made)
      project.copyTagsFrom(node)
      project
    }
  }

  private def bucketing(scan: ParquetryScan): Option[BucketSpec] = scan.fileBuckets.map(found => BucketSpec(found.count, found.columns.toSeq, Nil))

  /**
   * Whether readers may use a condition to skip row groups. Not on floats: readers tell -0.0 from 0.0, and
   * statistics leave NaN out, so rows would be lost.
   */
  private def usable(condition: Expression, data: Seq[Attribute]): Boolean = condition.deterministic &&
    !condition.references.exists(column => column.dataType == FloatType || column.dataType == DoubleType) &&
    condition.references.nonEmpty && condition.references.forall(column => data.exists(_.exprId == column.exprId)) &&
    !condition.exists(_.isInstanceOf[PlanExpression[_]])

  private def named(scan: ParquetryScan): TableIdentifier = TableIdentifier(
    scan.table.path.last, Some(scan.table.path.init.mkString(".")), Some(scan.table.ref.name))

  /** Without ids of fields and other metadata, which readers of some engines take as requests. */
  private def plain(schema: StructType): StructType =
    StructType(schema.asNullable.map(field => StructField(field.name, field.dataType)))
}
