package org.apache.spark.sql.parquetry.rowlayout

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.parquetry.hash.BucketHash
import org.apache.spark.sql.parquetry.joingraph.KeySource
import org.apache.spark.sql.parquetry.protocol.CharPadding
import org.apache.spark.sql.types.{CharType, DataType}

/**
 * How a bucket column is computed from the keys of a join, an aggregate or a window.
 *
 * Rows with equal keys are in one bucket if each bucket column is a function of the keys. Mostly it is one of
 * them. But Spark compares by what it computes of the columns, and the column can be found again in that:
 *
 * {{{
 * column  key                                             the column, from keys 0 and 1
 * k INT   k                                               key 0
 * k INT   cast(k AS BIGINT)                               try_cast(key 0 AS INT)
 * k       coalesce(k, 0), k IS NULL  (Spark's k <=> …)    if(key 1, NULL, key 0)
 * k FLOAT k with one zero and one NaN                     key 0: the hash makes no difference, either
 * k CHAR  k with blanks up to its length                  key 0, in Hive's versions, which count none of these
 * }}}
 *
 * So a BIGINT on the other side of a join with an INT in buckets is cast to INT to find its bucket. One that
 * no INT is equal to becomes NULL. It is in some bucket, and matches nothing there, nor anywhere.
 */
object KeyForms {
  private[rowlayout] val MaxForms = 16

  /**
   * The ways to compute a column, as expressions of `BoundReference`s to the keys. There are none if it is no
   * function of the keys.
   *
   * @param raw its type in the table
   */
  def of(column: Expression, raw: DataType, version: String, keys: Seq[Expression]): Seq[Expression] = {
    val bound = keys.zipWithIndex.map { case (key, i) => key -> BoundReference(i, key.dataType, nullable = true) }
    val whole = bound.collect {
      case (key, at) if key.semanticEquals(column) || normalized(column, key) => at
      case (CharPadding(inner), at) if inner.semanticEquals(column) && raw.isInstanceOf[CharType] && version != BucketHash.Spark => at
      case (Cast(inner, to, zone, _), at) if inner.semanticEquals(column) && KeySource.widens(inner.dataType, to, zone) =>
        Cast(at, column.dataType, zone, EvalMode.TRY)
    }
    val nullSafe = for {
      (Coalesce(Seq(inner, _)), at) <- bound if inner.semanticEquals(column)
      (IsNull(same), isNull) <- bound if same.semanticEquals(column)
    } yield If(isNull, Literal(null, column.dataType), at)
    (whole ++ nullSafe ++ computed(column, raw, version, keys)).distinct.take(MaxForms)
  }

  /** The forms of a column that is itself computed: rows that were shuffled have such columns. */
  private def computed(column: Expression, raw: DataType, version: String, keys: Seq[Expression]): Seq[Expression] = column match {
    case literal: Literal => Seq(literal)
    case _ if column.children.isEmpty || !column.deterministic => Nil
    case _ => column.children.map(child => of(child, child.dataType, version, keys).take(2))
      .foldLeft(Seq(Seq.empty[Expression])) { (all, forms) => all.flatMap(some => forms.map(some :+ _)).take(MaxForms) }
      .map(column.withNewChildren)
  }

  private def normalized(column: Expression, key: Expression): Boolean = NormalizeFloatingNumbers.normalize(column) match {
    case same if same eq column => false
    case normal => normal.semanticEquals(key)
  }
}
