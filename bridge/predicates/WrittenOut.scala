package org.apache.spark.sql.parquetry.predicates

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Writes out a condition that tests each of a few constants as ANDs or ORs, with the same truth for each row:
 *
 *  - `exists(array('a', 'b'), x -> startswith(c, x))` is `startswith(c, 'a') OR startswith(c, 'b')`
 *  - `forall(array(1, 2), x -> c <> x)` is `c <> 1 AND c <> 2`
 *  - `c LIKE ANY ('a_%', 'b_%')` is `c LIKE 'a_%' OR c LIKE 'b_%'`; LIKE ALL and their negations likewise
 */
object WrittenOut {
  /** Constants that are written out; of more, a condition stays as it is. */
  val most = 100

  def unapply(e: Expression): Option[Expression] = e match {
    case ArrayExists(Items(items), body: LambdaFunction, true) => BalancedChains.any(items.map(applied(body, _)))
    case ArrayForAll(Items(items), body: LambdaFunction) => BalancedChains.all(items.map(applied(body, _)))
    case LikeAny(text, patterns) if few(patterns) => BalancedChains.any(patterns.map(like(text, _)))
    case NotLikeAny(text, patterns) if few(patterns) => BalancedChains.any(patterns.map(like(text, _)).map(Not(_)))
    case LikeAll(text, patterns) if few(patterns) => BalancedChains.all(patterns.map(like(text, _)))
    case NotLikeAll(text, patterns) if few(patterns) => BalancedChains.all(patterns.map(like(text, _)).map(Not(_)))
    case _ => None
  }

  private object Items {
    def unapply(e: Expression): Option[Seq[Literal]] = e match {
      case Literal(array: ArrayData, ArrayType(element: DataType, _)) if array.numElements <= most =>
        Some(array.toSeq[Any](element).map(Literal(_, element)))
      case _ => None
    }
  }

  /** The body for one item; what became a constant by it is evaluated, unless that is an error. */
  private def applied(function: LambdaFunction, item: Literal): Expression = {
    val id = function.arguments.head.exprId
    function.function.transform { case variable: NamedLambdaVariable if variable.exprId == id => item }.transformUp {
      case e if e.foldable && !e.isInstanceOf[Literal] =>
        try Literal(e.eval(), e.dataType) catch { case NonFatal(_) => e }
    }
  }

  private def few(patterns: Seq[UTF8String]): Boolean = patterns.length <= most
  private def like(text: Expression, pattern: UTF8String): Expression = Like(text, Literal(pattern, StringType), '\\')
}
