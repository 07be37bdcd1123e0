package org.apache.spark.sql.parquetry.buckets

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.parquetry.hash.HashFunction
import org.apache.spark.sql.types._

/**
 * Replaces calls of `hive_hash` and `hive_bucket` by expressions with generated code. These need to know
 * which columns are of type char or varchar. Spark keeps the type in a column's metadata; for a char that it
 * pads while reading, the padding has the length.
 */
object ResolveHashFunctions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp { case node =>
    node.transformExpressionsUp {
      case ApplyFunctionExpression(function: HashFunction#Bound, arguments) if arguments.forall(_.resolved) =>
        function.expression(arguments, arguments.map(raw(_, node)))
    }
  }

  /** The type of an expression in its table, as far as a column's is known at a node. */
  def rawType(e: Expression, node: LogicalPlan): DataType = raw(e, node)

  private def raw(e: Expression, node: LogicalPlan, seen: Set[ExprId] = Set.empty): DataType = {
    def of(e: Expression): DataType = raw(e, node, seen)
    e match {
      case a: Attribute if seen(a.exprId) => a.dataType
      case a: Attribute => CharVarcharUtils.getRawType(a.metadata)
        .orElse(padded(a, node).map(raw(_, node, seen + a.exprId))).getOrElse(a.dataType)
      case a: Alias => of(a.child)
      case c: Cast if c.child.dataType == c.dataType => of(c.child) // of a view's column
      case GetStructField(child, ordinal, _) => of(child) match {
        case s: StructType => s(ordinal).dataType
        case _ => e.dataType
      }
      // a char that was padded, also within a struct, an array or a map
      case s: StaticInvoke if s.functionName == "readSidePadding" => s.arguments(1) match {
        case Literal(length: Int, _) => CharType(length)
        case _ => e.dataType
      }
      case If(IsNull(_), Literal(null, _), built) => of(built)
      case c: CreateNamedStruct =>
        StructType(c.dataType.fields.zip(c.valExprs).map { case (f, v) => f.copy(dataType = of(v)) })
      case ArrayTransform(array, LambdaFunction(body, _, _)) => (of(body), array.dataType) match {
        case (element, ArrayType(_, containsNull)) => ArrayType(element, containsNull)
        case _ => e.dataType
      }
      case MapFromArrays(keys, values) => (of(keys), of(values)) match {
        case (ArrayType(key, _), ArrayType(value, containsNull)) => MapType(key, value, containsNull)
        case _ => e.dataType
      }
      case _ => e.dataType
    }
  }

  /**
   * The expression of a column that a projection below computes: a DataFrame of a table has columns padded
   * already.
   */
  private def padded(a: Attribute, node: LogicalPlan): Option[Expression] =
    node.children.iterator.flatMap(_.collectFirst(Function.unlift[LogicalPlan, Expression] {
      case Project(list, _) => list.collectFirst { case alias: Alias if alias.exprId == a.exprId => alias.child }
      case _ => None
    })).nextOption()
}
