package org.apache.spark.sql.parquetry.predicates

import scala.util.control.NonFatal

import org.json4s._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.{Predicate => CatalystPredicate}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.parquetry.protocol.{Bridge, CharPadding, Json, PartitionValuesAnswer}
import org.apache.spark.sql.parquetry.table.{ParquetryTable, PushedPredicate}
import org.apache.spark.sql.parquetry.values.{InBoxes, Membership, TupleMembership}
import org.apache.spark.sql.parquetry.versions.Pushdown
import org.apache.spark.sql.parquetry.versions.Pushdown.OnPartitions
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Conditions on partition columns that the planner does not understand (functions, casts, two columns
 * compared). Spark evaluates them over the values of the partitions that all other conditions keep.
 */
object EvaluatedPartitionPredicates {
  /** Marks a condition that follows from another one. Spark evaluates the other one on rows in any case. */
  val follows: TreeNodeTag[Unit] = TreeNodeTag[Unit]("parquetry.follows")

  /**
   * Evaluates conditions over the partitions that the `known` conditions keep. If an evaluation fails for a
   * partition, say in a cast of its value, the partition is kept, and Spark tests its rows.
   */
  def evaluate(table: ParquetryTable, known: Seq[JValue], conditions: Seq[OnPartitions]): Seq[PushedPredicate] =
    conditions.zip(values(table, known, conditions.map(_.expression))).map { case (condition, v) =>
      PushedPredicate(condition, v.encoded, v.exact || v.condition.getTagValue(follows).isDefined)
    }

  /** The same for conditions that `OfferDirectoryPredicates` has given the table, in place of Spark. */
  def evaluate(table: ParquetryTable, pushed: Seq[PushedPredicate]): Seq[PushedPredicate] = {
    val conditions = table.onDirectories.filter(PartitionPredicates.decides(table, _))
    if (conditions.isEmpty) pushed
    else {
      val known = pushed.filterNot(_.again)
      known ++ evaluate(table, known.map(_.tree), conditions.flatMap(Pushdown.onPartitions))
    }
  }

  /**
   * The partition values that satisfy a condition.
   *
   * @param rows number of tested values
   * @param kept the satisfying values, as the planner sent them
   * @param failure the error of a failed evaluation, or None; its value is kept
   */
  case class Values(condition: Expression, tree: JObject, rows: Int, kept: Seq[Seq[String]], failure: Option[Throwable]) {
    def exact: Boolean = failure.isEmpty
    /** The condition for the planner, with the values that satisfy it, or NULL if all values do. */
    def encoded: JObject = JObject(tree.obj :+ ("rows" -> (if (kept.length == rows) JNull else JArray(kept.map(Json.ofTexts).toList))))
  }

  /**
   * Returns for each condition the values that satisfy it. The conditions are about partition columns alone
   * (see `PartitionPredicates.evaluable`).
   */
  def values(table: ParquetryTable, known: Seq[JValue], conditions: Seq[Expression]): Seq[Values] =
    if (conditions.isEmpty) Nil
    else {
      val trees = conditions.map(described)
      val values = table.askOnce("partition_values",
        "predicates" -> JArray(known.toList), "conditions" -> JArray(trees.toList)).as[PartitionValuesAnswer].values
      conditions.indices.map(i => over(table, conditions(i), trees(i), values(i)))
    }

  private def over(table: ParquetryTable, condition: Expression, tree: JObject, rows: Seq[Seq[String]]): Values = {
    val schema = table.partitionSchema()
    val bound = condition.transform {
      case a: AttributeReference => BoundReference(schema.fieldIndex(a.name), a.dataType, a.nullable)
    }
    val test = CatalystPredicate.createInterpreted(bound)
    val positions = names(condition).map(schema.fieldIndex).toArray
    val partition = new GenericInternalRow(schema.length)
    var failure = Option.empty[Throwable]
    val tooMany = InBoxes.tests(condition) > 1 && rows.length.toLong * InBoxes.tests(condition) > Bridge.terms.limits.evaluatedRows
    val kept = if (tooMany) rows else rows.filter { row =>
      row.zip(positions).foreach { case (value, i) => partition.update(i, Json.toValue(value, schema(i).dataType)) }
      try test.eval(partition) catch { case NonFatal(e) => failure = Some(e); true }
    }
    Values(condition, tree, rows.length, kept, failure)
  }

  /** The columns of a condition, in the order of the values. */
  def names(condition: Expression): Seq[String] = condition.references.toSeq.map(_.name).distinct

  private def described(condition: Expression): JObject = {
    val plain = unmarked(condition)
    val readable = plain.transform { case CharPadding(column) => column }
    val told = Membership.unapply(plain).map(_.bounds).orElse(TupleMembership.unapply(plain).map(_.bounds)).getOrElse(plain)
    val found = Membership.unapply(readable).map(in => List[JField]("of" -> JString(in.of.sql), "count" -> JInt(in.values.size)))
      .orElse(TupleMembership.unapply(readable).map(in =>
        List[JField]("of" -> JString(row(in.of.map(written))), "count" -> JInt(in.tuples.size), "tuples" -> JBool(true)))).getOrElse(Nil)
    JObject(List[JField]("fn" -> JString("PARTITION_PREDICATE"), "sql" -> JString(written(readable)),
      "columns" -> Json.strings(names(condition)), "tree" -> ExpressionTrees.of(told)) ++ found)
  }

  /** A condition without marks of other rules. */
  def unmarked(condition: Expression): Expression = condition.transform {
    case a: AttributeReference => a.withQualifier(Nil)
    case marked: KnownNullable => marked.child // see GuardUntranslatablePredicates
  }

  /** A condition's text in reports. */
  def text(condition: Expression): String = written(unmarked(condition).transform { case CharPadding(column) => column })

  /** SQL as a user would write it: without the parentheses that Spark puts around every binary operator. */
  def written(e: Expression): String = BucketPredicate.unapply(e).map(_.sql).getOrElse(writtenWhole(e))
  private def writtenWhole(e: Expression): String = Membership.unapply(e).map(found => s"${readable(found.of).sql} IN ${found.listed}")
    .orElse(TupleMembership.unapply(e).map(found => s"${row(found.of.map(written))} IN ${found.listed}")).getOrElse(writtenOut(e))
  private def writtenOut(e: Expression): String = readable(e) match {
    case b: BinaryOperator => s"${b.left.sql} ${b.sqlOperator} ${b.right.sql}"
    case In(value, list) => s"${value.sql} IN ${row(list.map(_.sql))}"
    case Not(In(value, list)) => s"${value.sql} NOT IN ${row(list.map(_.sql))}"
    case Not(child) => s"NOT ${child.sql}"
    case IsNull(child) => s"${child.sql} IS NULL"
    case IsNotNull(child) => s"${child.sql} IS NOT NULL"
    case other => other.sql
  }

  /** Replaces tuples and lambdas by text, since Spark has no SQL for them. */
  private def readable(e: Expression): Expression = FieldPath.readable(e).transform {
    case Literal(values: InternalRow, t: StructType) =>
      Written(row(t.fields.indices.map(i => Literal(values.get(i, t(i).dataType), t(i).dataType).sql)), t)
    case tuple: CreateNamedStruct => Written(row(tuple.valExprs.map(readable(_).sql)), tuple.dataType)
    case InSet(child, values) => readable(In(child, values.toSeq.map(Literal(_, child.dataType)).sortBy(_.sql)))
    case l: LambdaFunction =>
      val body = l.function.transform { case v: NamedLambdaVariable => Written(v.name, v.dataType) }
      val names = l.arguments.map(_.name)
      Written(s"${if (names.length == 1) names.head else row(names)} -> ${readable(body).sql}", l.dataType)
  }
  private def row(texts: Seq[String]): String = texts.mkString("(", ", ", ")")

  /** A part of an expression that only has to give its SQL. */
  private case class Written(override val sql: String, override val dataType: DataType) extends LeafExpression with Unevaluable {
    override def nullable: Boolean = true
  }
}
