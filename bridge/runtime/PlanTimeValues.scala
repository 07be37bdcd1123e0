package org.apache.spark.sql.parquetry.runtime

import scala.util.Try

import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.connector.expressions.{FieldReference, LiteralValue}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{KeySource, KeyTuple, Lineage}
import org.apache.spark.sql.parquetry.metadata.RowsScan
import org.apache.spark.sql.parquetry.predicates.{EvaluatedPartitionPredicates, FieldPath}
import org.apache.spark.sql.parquetry.protocol.{AuditMode, Bridge, KnownFacts, StepFacts}
import org.apache.spark.sql.parquetry.scan.RuntimeValues
import org.apache.spark.sql.parquetry.versions.ScanRelation
import org.apache.spark.sql.types._

/**
 * Values of a join's key, or tuples of several keys, that are known before the query runs. The build side
 * reads one of our tables, and the keys are computed from partition columns.
 *
 * @param tree the values for the planner, or None if they prune nothing more
 * @param count number of values
 * @param complete whether the build side has all of them: then running it prunes nothing more
 * @param condition the values as a condition of Spark's, for an audit
 */
case class PlanTimeValues(tree: Option[JValue], count: Int, complete: Boolean, condition: Option[Expression]) {
  def facts: KnownFacts = KnownFacts(count, complete, useful = tree.isDefined)
}

object PlanTimeValues {
  def of(source: KeySource, key: Expression, build: LogicalPlan): Option[PlanTimeValues] = for {
    values <- Option.when(comparable(key.dataType))(build).flatMap(values(key, _)).map(_ - null)
    if values.size <= source.scan.mostValues
  } yield {
    // an estimated scan has no listed partitions to compare with, so it gets all values
    val there = source.key match {
      case _: AttributeReference if source.scan.isEstimated => None
      case _ => held(source)
    }
    val found = if (there.exists(_.subsetOf(values))) None else tree(source, there.fold(values)(_ & values))
    PlanTimeValues(found.filterNot(source.scan.planTimeValues.contains), values.size, complete(build),
      Option.when(AuditMode.isOn)(InSet(source.key, values)))
  }

  /**
   * The tuples of several keys, or None if they are not known, or say no more than a set for each column.
   *
   * @param tuple the keys as expressions of the scan's columns, which name their places in `keys`
   * @param keys the build side's keys
   */
  def ofTuples(source: KeySource, tuple: KeyTuple, keys: Seq[Expression], build: LogicalPlan): Option[PlanTimeValues] = for {
    rows <- rows(keys, build)
    tuples = rows.flatMap(tuple.of).distinct
    if tuples.length <= Bridge.terms.limits.tuples && tuple.columns.forall(column => comparable(column.dataType))
    if tuples.length < tuple.columns.indices.map(at => BigInt(tuples.map(_(at)).distinct.length)).product
  } yield {
    val there =
      if (source.scan.isEstimated && !tuple.evaluated) None
      else held(tuple.keys.map(key => source.copy(key = key))).map(_.flatMap(tuple.of))
    val (among, wanted) = (there.map(_.toSet), tuples.toSet)
    val found = if (among.exists(_.subsetOf(wanted))) None else tree(source, tuple, among.fold(tuples)(some => tuples.filter(some)))
    PlanTimeValues(found.filterNot(source.scan.planTimeValues.contains), tuples.length, complete(build),
      Option.when(AuditMode.isOn)(InSet(tuple.struct, tuples.map(InternalRow.fromSeq).toSet)))
  }

  /** The values that a key may have in the rows of a plan, or None if they are not known. */
  private def values(key: Expression, plan: LogicalPlan): Option[Set[Any]] = rows(Seq(key), plan).map(_.map(_.head).toSet)

  /** The values that some keys may have together in the rows of a plan, or None if they are not known. */
  private def rows(keys: Seq[Expression], plan: LogicalPlan): Option[Seq[Seq[Any]]] = plan match {
    case Project(_, relation: DataSourceV2ScanRelation) =>
      val below = keys.flatMap(key => Lineage.below(key, plan).headOption.map(_._1))
      if (below.length < keys.length) None else rows(below, relation)
    case relation @ ScanRelation(_, answered: RowsScan, _, _, _) if keys.forall(_.deterministic) =>
      evaluated(keys.map(BindReferences.bindReference(_, relation.output)), answered.rows)
    case _ =>
      val sources = keys.map(KeySource.of(_, plan))
      val each = sources.flatten
      if (sources.exists(_.length != 1) || each.exists(!_.steps.forall(keeps)) || each.exists(!_.relation.eq(each.head.relation))) None
      else held(each)
  }

  /**
   * Whether a node above a scan adds no values to the scan's: neither of another scan, nor NULL for rows
   * without a match.
   */
  private def keeps(step: StepFacts): Boolean =
    if (step.side.isEmpty) step.node != "Union" else Bridge.terms.transparentJoins(step.node -> step.side)

  /** Whether equal values of a type are equal in Scala, too. */
  private def comparable(dataType: DataType): Boolean = dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType | BooleanType => true
    case text: StringType => text.supportsBinaryEquality
    case _ => false
  }

  /**
   * The values of an expression of partition columns in the partitions that a scan reads, or None if they are
   * too many to be evaluated, or if an evaluation fails.
   */
  def held(source: KeySource): Option[Set[Any]] = held(Seq(source)).map(_.map(_.head).toSet)

  /** The values that some expressions have together in the partitions that a scan reads. */
  private def held(sources: Seq[KeySource]): Option[Seq[Seq[Any]]] = Option.when(sources.forall(_.ofPartitions))(sources.head.scan)
    .flatMap(scan => evaluated(sources.map(_.key.transform {
      case a: AttributeReference => BoundReference(scan.partitionSchema.fieldIndex(a.name), a.dataType, a.nullable)
    }), scan.partitionRows))

  private def evaluated(bound: Seq[Expression], rows: Seq[InternalRow]): Option[Seq[Seq[Any]]] =
    if (rows.length > Bridge.terms.limits.evaluatedRows) None
    else Try(rows.map(row => bound.map(key => InternalRow.copyValue(key.eval(row)))).distinct).toOption

  /** Whether a plan has all rows of each partition: it only selects columns. */
  private def complete(plan: LogicalPlan): Boolean = plan match {
    case project: Project => complete(project.child)
    case _ => plan.isInstanceOf[DataSourceV2ScanRelation]
  }

  private def tree(source: KeySource, values: Set[Any]): Option[JValue] = source.key match {
    case FieldPath(path) => Some(in(source, path, source.key.dataType, values))
    case _ if source.ofPartitions =>
      EvaluatedPartitionPredicates.values(source.scan.table, source.scan.planTimeConditions, Seq(InSet(source.key, values))).headOption.map(_.encoded)
    case key => source.widened.map { case (column, back) =>
      in(source, Seq(column.name), column.dataType, values.map(value => back(Literal(value, key.dataType)).eval()) - null)
    }.orElse(Option.when(source.form == "function")(RuntimeValues.ofKey(key, values.toSeq, source.scan.mostValues)))
  }

  private def tree(source: KeySource, tuple: KeyTuple, tuples: Seq[Seq[Any]]): Option[JValue] =
    if (!tuple.evaluated) Some(RuntimeValues.ofTuples(KeyTuple.struct(tuple.columns), tuples.map(InternalRow.fromSeq), source.scan.mostValues))
    else EvaluatedPartitionPredicates.values(source.scan.table, source.scan.planTimeConditions,
      Seq(InSet(tuple.value, tuples.map(InternalRow.fromSeq).toSet))).headOption.map(_.encoded)

  private def in(source: KeySource, column: Seq[String], dataType: DataType, values: Set[Any]): JValue = {
    val literals = values.toSeq.sorted(TypeUtils.getInterpretedOrdering(dataType)).map(LiteralValue(_, dataType))
    RuntimeValues.tree(new Predicate("IN", (FieldReference(column) +: literals).toArray), source.scan.mostValues)
  }
}
