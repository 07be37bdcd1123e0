package org.apache.spark.sql.parquetry.predicates

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, GetStructField, LeafExpression, Unevaluable}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.types.{DataType, StructType}

/** Matches a column, or a field of structs within one, with the names that lead to it. */
object FieldPath {
  /** The planner's sign between the parts of a field's name (`FIELD_SEPARATOR` in `identifiers.py`). */
  private val separator = "\u007f"

  def unapply(e: Expression): Option[Seq[String]] = e match {
    case a: AttributeReference => Some(Seq(a.name))
    case GetStructField(child @ FieldPath(path), ordinal, _) =>
      child.dataType match {
        case fields: StructType => Some(path :+ fields(ordinal).name).filter(_.forall(part => part.nonEmpty && !part.contains(separator)))
        case _ => None
      }
    case _ => None
  }

  /** The planner's name of a column or field, or None if an expression is neither. */
  def name(e: Expression): Option[String] = unapply(e).map(_.mkString(separator))

  /** The names that lead to a column or field, of the planner's name. */
  def parts(name: String): Seq[String] = name.split(separator, -1).toSeq

  /** A name for people. */
  def shown(name: String): String = parts(name).mkString(".")

  /** The planner's names of all columns and fields in an expression, without the structs of fields. */
  def names(e: Expression): Seq[String] = name(e).map(Seq(_)).getOrElse(e.children.flatMap(names)).distinct

  /** An expression with SQL as people write it: `s.a`, where Spark's has backticks. */
  def readable(e: Expression): Expression = e.transform {
    case field @ FieldPath(path) if path.length > 1 => ReadableField(path.map(quoteIfNeeded).mkString("."), field.dataType)
  }

  /** The column that an expression is, or is a field of. */
  def column(e: Expression): Option[AttributeReference] = e match {
    case a: AttributeReference => Some(a)
    case GetStructField(child, _, _) => column(child)
    case _ => None
  }
}

/** A field in an expression that only has to give its SQL. */
private[predicates] case class ReadableField(override val sql: String, override val dataType: DataType) extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
}
