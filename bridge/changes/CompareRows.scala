package org.apache.spark.sql.parquetry.changes

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, UnaryNode, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.versions.Changelogs
import org.apache.spark.sql.types.{BinaryType, DataType}

/**
 * Takes out the rows that a version has only carried over from removed files into new ones. If one removed
 * row and one new row have a key, they become an update.
 *
 * @param keys the key's columns in the child, or none
 * @param changeType the type of the change in the output
 */
case class CompareRows(keys: Seq[Attribute], changeType: Attribute, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output.map(a => if (a.name == ChangeColumns.Type) changeType else a)
  override def producedAttributes: AttributeSet = AttributeSet(Seq(changeType))
  /** Rows are compared by all columns, so Spark must not leave any out. */
  override lazy val references: AttributeSet = child.outputSet
  override protected lazy val validConstraints: ExpressionSet = ExpressionSet()
  override def maxRows: Option[Long] = child.maxRows
  override protected def withNewChildInternal(newChild: LogicalPlan): CompareRows = copy(child = newChild)
}

object CompareRows {
  /** Compares the rows of a plan with all columns of changes. */
  def above(child: LogicalPlan, keys: Seq[String]): CompareRows = CompareRows(
    keys.map(name => child.output.find(_.name == name).get),
    child.output.find(_.name == ChangeColumns.Type).get.newInstance(), child)
}

/**
 * Changes become a union of rows that are certain to be changes, and of rows that are compared. A version
 * that only appends is in the first part, and is not shuffled.
 */
object ExpandChanges extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries {
    case r: DataSourceV2Relation if changes(r.table).exists(_.compared.isEmpty) => expanded(r, changes(r.table).get)
  }

  def changes(table: Table): Option[ChangesTable] = table match {
    case ours: ChangesTable => Some(ours)
    case other => Changelogs.table(other).collect { case ours: ChangesTable => ours }
  }

  private def expanded(r: DataSourceV2Relation, table: ChangesTable): LogicalPlan = {
    def part(compared: Boolean) = r.copy(table = table.copy(compared = Some(compared)), catalog = None, identifier = None)
    if (table.mode == "raw") part(compared = false)
    else {
      val compared = part(compared = true).newInstance()
      Union(part(compared = false), CompareRows.above(compared, table.keys))
    }
  }
}

/**
 * Pushes conditions below a comparison: equal rows satisfy them together. With a key, this holds for
 * conditions on the key alone, as another could take away one row of an update.
 */
object PushBelowComparison extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case Filter(condition, compared: CompareRows) if parts(condition).exists(isPushed(_, compared)) =>
      val (below, above) = parts(condition).partition(isPushed(_, compared))
      val narrow = compared.copy(child = Filter(below.reduce(And(_, _)), compared.child))
      above.reduceOption(And(_, _)).fold[LogicalPlan](narrow)(Filter(_, narrow))
  }

  private def parts(condition: Expression): Seq[Expression] = condition match {
    case And(left, right) => parts(left) ++ parts(right)
    case other => Seq(other)
  }

  private def isPushed(e: Expression, compared: CompareRows): Boolean = {
    val ofRows = if (compared.keys.nonEmpty) AttributeSet(compared.keys)
      else AttributeSet(compared.child.output.filterNot(a => ChangeColumns.names(a.name)))
    e.deterministic && !SubqueryExpression.hasSubquery(e) && e.references.nonEmpty && e.references.subsetOf(ofRows)
  }
}

/** The bytes of a row of some values. Equal rows, and no others, have equal bytes. */
case class PackedRow(children: Seq[Expression]) extends Expression with CodegenFallback {
  @transient private lazy val pack = UnsafeProjection.create(children)
  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def eval(row: InternalRow): Any = pack(row).copy().getBytes
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): PackedRow = copy(children = newChildren)
}

/** Plans a comparison: rows are packed. A shuffle and a sort by their hash bring equal rows together. */
object CompareRowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case c @ CompareRows(keys, _, child) =>
      val (told, data) = child.output.partition(a => ChangeColumns.names(a.name))
      val constants = ChangeColumns.fields.toSeq.map(f => told.find(_.name == f.name).get)
      val key = Alias(PackedRow(keys), "key")()
      val row = Alias(PackedRow(data), "row")()
      val packed = Project(constants ++ Seq(key, row), child)
      val grouped = if (keys.isEmpty) row else key
      val hash = Alias(XxHash64(Seq(constants(1), grouped.toAttribute), 42L), "hash")()
      CompareRowsExec(c.output, data, keys.length, planLater(Project(packed.output :+ hash, packed))) :: Nil
    case _ => Nil
  }
}
