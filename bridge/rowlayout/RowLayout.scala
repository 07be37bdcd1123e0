package org.apache.spark.sql.parquetry.rowlayout

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.parquetry.joingraph.{JoinSide, LogicalNames}
import org.apache.spark.sql.parquetry.protocol.BucketsAnswer
import org.apache.spark.sql.parquetry.scan.ParquetryScan
import org.apache.spark.sql.parquetry.versions.{Bucketing, ScanRelation}
import org.apache.spark.sql.types.{DataType, StringType, VarcharType}

/**
 * A scan of ours whose rows a node has, each where the scan has read it.
 *
 * @param buckets the buckets that the scan can be read in
 * @param columns for each bucket column, in their hash order, the ways to compute it from the node's output
 * @param plain for each bucket column, the node's columns that Spark knows to be it
 * @param order for each column that the files are sorted by, the node's columns that are the same
 * @param members this scan, and the scans that joins below have joined with it in the same buckets
 * @param beside scans below the same UNION ALL: after it, all of them are in their buckets, or none
 * @param unions UNIONs above the scan, each with the bucket columns as expressions of its children
 * @param ofSpark whether Spark itself follows the buckets to the node
 * @param hasFiles whether no node on the way asks for the name of a row's file: a shuffled row has none
 * @param ifUsed whether a node below gathers rows, which stay in the buckets only if Spark uses them
 */
case class Source(
    relation: DataSourceV2ScanRelation, buckets: Option[BucketsAnswer], columns: Seq[Seq[Expression]], plain: Seq[Seq[Expression]],
    order: Seq[Seq[Expression]], members: Seq[Member], beside: Seq[DataSourceV2ScanRelation] = Nil, unions: Seq[(Union, Seq[Seq[Expression]])] = Nil,
    ofSpark: Boolean = true, hasFiles: Boolean = true, ifUsed: Boolean = false) {
  def scan: ParquetryScan = relation.scan.asInstanceOf[ParquetryScan]
  /** The buckets that the scan reports to Spark. */
  def reported: Option[BucketsAnswer] = if (relation.keyGroupedPartitioning.isDefined) scan.buckets else None
  /**
   * The types of the bucket columns, with one for all types that have one hash. The hash of a CHAR depends on
   * its length.
   */
  def types: Seq[DataType] = buckets.toSeq.flatMap(of => of.types.map {
    case _: VarcharType if of.version == "1" => VarcharType(1)
    case _: VarcharType => StringType
    case other => other
  })
  /** Whether equal values have one hash, here and in another scan. */
  def hashesAs(other: Source): Boolean = buckets.map(_.version) == other.buckets.map(_.version) && types == other.types

  /** The same rows by keys, or None if they are not in buckets by them. */
  def by(keys: Seq[Expression]): Option[KeyedSource] = forms(keys).map(KeyedSource(this, keys, _))
  private def forms(keys: Seq[Expression]): Option[Seq[Seq[Expression]]] = buckets.map { of =>
    columns.zip(of.types).map { case (ways, raw) => ways.flatMap(KeyForms.of(_, raw, of.version, keys)).distinct.take(KeyForms.MaxForms) }
  }.filter(forms => forms.nonEmpty && forms.forall(_.nonEmpty))

  /**
   * The same rows above a node that has other columns.
   *
   * @param values the node's columns, as expressions of the columns below
   * @param output the node's columns
   */
  private[rowlayout] def as(values: Seq[Expression], output: Seq[Expression]): Source = copy(
    columns = columns.zip(buckets.toSeq.flatMap(_.types)).map { case (ways, raw) =>
      ways.flatMap(KeyForms.of(_, raw, buckets.get.version, values)).map(Source.bound(_, output)).distinct
    },
    plain = plain.map(renamed(_, values, output)), order = order.map(renamed(_, values, output)))
  private def renamed(ways: Seq[Expression], values: Seq[Expression], output: Seq[Expression]): Seq[Expression] =
    values.zip(output).collect { case (value, column) if ways.exists(_.semanticEquals(value)) => column }

  /** The same rows above a join, where a side's keys also are in other columns. */
  private[rowlayout] def and(keys: Seq[Expression], equal: Seq[Expression]): Source = {
    val more = as(keys, equal)
    def both(ways: Seq[Seq[Expression]], others: Seq[Seq[Expression]]) = ways.zip(others).map { case (own, theirs) => (own ++ theirs).distinct }
    copy(columns = both(columns, more.columns), plain = both(plain, more.plain), order = both(order, more.order))
  }
  private[rowlayout] def keptWhole(reason: Option[String]): Source = copy(members = members.map(one => one.copy(whole = one.whole.orElse(reason))))
  private[rowlayout] def repeatable(yes: Boolean): Source = if (yes) this else copy(members = members.map(_.copy(repeatable = false)))
}

/**
 * One of the scans whose rows are together in the same buckets.
 *
 * @param whole why rows of a bucket must not be in several tasks, or None if they may be
 * @param repeatable whether a bucket has the same rows each time that it is read
 */
case class Member(relation: DataSourceV2ScanRelation, whole: Option[String] = None, repeatable: Boolean = true)

/**
 * A scan with buckets whose columns follow from keys, so that rows with equal keys are in one of them.
 *
 * @param forms for each bucket column the ways to compute it from the keys, as `BoundReference`s to them
 */
case class KeyedSource(source: Source, keys: Seq[Expression], forms: Seq[Seq[Expression]]) {
  /** Whether rows with equal keys have one hash, here and in another scan. */
  def meets(other: KeyedSource): Boolean = source.hashesAs(other.source) &&
    forms.zip(other.forms).forall { case (one, another) => one.exists(another.contains) }
  /** For each bucket column the positions of keys that are the column. */
  private lazy val plain: Seq[Seq[Int]] = source.plain.map(ways => keys.indices.filter(i => ways.exists(_.semanticEquals(keys(i)))))
  /** Whether Spark itself knows the rows to be in buckets by the keys. */
  def isPlain: Boolean = source.ofSpark && plain.forall(_.nonEmpty)
  /** Whether Spark itself finds rows with equal keys in buckets of one hash, perhaps of other numbers. */
  def meetsPlainly(other: KeyedSource): Boolean = (for (one <- source.reported; another <- other.source.reported) yield
    one.version == another.version && one.types.map(_.asNullable) == another.types.map(_.asNullable) && isPlain && other.isPlain &&
      plain.zip(other.plain).forall { case (own, theirs) => own.intersect(theirs).nonEmpty }).contains(true)
}

private object Source {
  /** The scan of a leaf. */
  def of(relation: DataSourceV2ScanRelation, scan: ParquetryScan): Source = {
    val buckets = scan.bucketsInPlace.filter(_.columns.forall(name => relation.output.exists(_.name == name)))
    val columns = buckets.toSeq.flatMap(_.columns.map(name => relation.output.filter(_.name == name).take(1)))
    val order = relation.ordering.toSeq.flatten.takeWhile(one => one.direction == Ascending && one.nullOrdering == NullsFirst).map(one => Seq(one.child))
    Source(relation, buckets, columns, columns, order, Seq(Member(relation)))
  }
  def bound(form: Expression, to: Seq[Expression]): Expression = form.transform { case key: BoundReference => to(key.ordinal) }
}

/**
 * The scans of each node of a plan whose rows it has where they were read. They are derived
 * bottom up, once for each node, from what the node does with the rows of its inputs (`Movement`):
 *
 * {{{
 * node                                    scans of ours whose rows are in their buckets
 * Project [j AS k2]                       a by k2, b by k2
 * └ Join a.k = b.j                        a by k or j, b by j or k: rows with equal keys are in one bucket
 *   ├ scan a, in buckets by k             a by k
 *   └ Filter                              b by j
 *     └ scan b, in buckets by j           b by j
 * }}}
 *
 * All rules about buckets, hot buckets, heavy keys and the order of files read this.
 */
class RowLayouts {
  private val derived = new IdentityHashMap[LogicalPlan, Seq[Source]]

  def of(plan: LogicalPlan): Seq[Source] = Option(derived.get(plan)).getOrElse {
    val sources = derive(plan)
    derived.put(plan, sources)
    sources
  }
  /** The scans of a side of a join whose rows are in buckets by its keys. */
  def of(side: JoinSide): Seq[KeyedSource] = of(side.plan).flatMap(_.by(side.keys))

  private def derive(plan: LogicalPlan): Seq[Source] = plan match {
    case relation @ ScanRelation(_, scan: ParquetryScan, _, _, _) => Seq(Source.of(relation, scan))
    case node => (Movement.of(node) match {
      case Movement.Stays => above(node, of(node.children.head))
      case Movement.Gathers(keys, by) => above(node, of(node.children.head).filter(_.by(keys).isDefined))
        .map(source => source.copy(ofSpark = source.ofSpark && Bucketing.reduces, ifUsed = true)
          .keptWhole(Some(s"rows of the bucket are $by before the join")))
      case join: Movement.Joins => joined(join, node.children.head, node.children.last)
      case Movement.Unites => united(node.asInstanceOf[Union])
      case Movement.Completes | Movement.Moves(_) => Nil
    }).map(_.repeatable(isRepeatable(node)))
      .map(source => if (RowLayouts.namesFiles(node)) source.copy(hasFiles = false) else source)
  }

  /** Whether a node gives the same rows each time. Windows may number equal rows in another order. */
  private def isRepeatable(node: LogicalPlan): Boolean = node match {
    case _: Window | _: WindowGroupLimit => false
    case _ => node.expressions.forall(_.deterministic)
  }

  private def above(node: LogicalPlan, sources: Seq[Source]): Seq[Source] = node match {
    case project: Project => computed(project.projectList, sources)
    case aggregate: Aggregate => computed(aggregate.aggregateExpressions, sources)
    case _ => sources
  }
  private def computed(list: Seq[NamedExpression], sources: Seq[Source]): Seq[Source] =
    sources.map(_.as(list.map { case Alias(value, _) => value; case column => column }, list.map(_.toAttribute)))

  /** The rows of a join. They are in no buckets of a side whose rows it may pad with NULL. */
  private def joined(join: Movement.Joins, left: LogicalPlan, right: LogicalPlan): Seq[Source] = {
    val Seq(leftKeys, rightKeys) = join.sides.fold(Seq[Seq[Expression]](Nil, Nil)) { case (one, other) => Seq(one.keys, other.keys) }
    val isInner = join.joinType.isInstanceOf[InnerLike]
    def lefts(sources: Seq[Source]) = if (isInner) sources.map(_.and(leftKeys, rightKeys)) else sources
    def rights(sources: Seq[Source]) = if (isInner) sources.map(_.and(rightKeys, leftKeys)) else sources
    join.broadcast match {
      case Some(BuildLeft) => rights(of(right))
      case Some(_) => lefts(of(left))
      case None =>
        val (ofLeft, ofRight) = (of(left).flatMap(_.by(leftKeys)), of(right).flatMap(_.by(rightKeys)))
        val Seq(wholeLeft, wholeRight) = RowLayouts.wholeIn(join.joinType)
        def together(own: KeyedSource, others: Seq[KeyedSource], whole: Option[String], theirs: Option[String]): Source =
          others.filter(own.meets).foldLeft(own.source.copy(ifUsed = true).keptWhole(whole)) { (source, other) =>
            source.copy(members = (source.members ++ other.source.keptWhole(theirs).members).distinctBy(member => System.identityHashCode(member.relation)))
          }
        val ownLeft = ofLeft.map(together(_, ofRight, wholeLeft, wholeRight))
        val ownRight = ofRight.map(together(_, ofLeft, wholeRight, wholeLeft))
        join.joinType match {
          case _: InnerLike => lefts(ownLeft) ++ rights(ownRight)
          case FullOuter =>
            val both = leftKeys.zip(rightKeys).map { case (one, other) => Coalesce(Seq(one, other)) }
            ownLeft.map(_.as(leftKeys, both).copy(ofSpark = false))
          case RightOuter => ownRight
          case _ => ownLeft
        }
    }
  }

  /** The rows of a UNION ALL, if rows of each child are in the same buckets by the same columns. */
  private def united(union: Union): Seq[Source] = {
    val ofChildren = union.children.map(child => of(child).filter(source => source.buckets.isDefined && source.columns.forall(_.nonEmpty))
      .map(source => source -> source.as(child.output, union.output)))
    ofChildren.head.flatMap { case (first, renamed) =>
      ofChildren.tail.foldLeft(Option((renamed.columns, Seq(first)))) { (known, others) => known.flatMap { case (columns, sources) =>
        others.filter(_._2.hashesAs(renamed)).map { case (source, other) =>
          columns.zip(other.columns).map { case (ways, more) => ways.filter(way => more.exists(_.semanticEquals(way))) } -> (sources :+ source)
        }.find(_._1.forall(_.nonEmpty))
      } }.map { case (columns, sources) =>
        val ways = columns.map(_.head)
        val keys = union.children.map(child => ways.map(_.transform { case a: Attribute => child.output(union.output.indexWhere(_.exprId == a.exprId)) }))
        val (beside, unions) = (sources.flatMap(source => source.relation +: source.beside), sources.flatMap(_.unions) :+ (union -> keys))
        sources.map(source => source.copy(columns = columns, plain = columns.map(_ => Nil), order = Nil, members = Seq(Member(source.relation)), beside = beside, unions = unions,
          ofSpark = false, hasFiles = sources.forall(_.hasFiles)))
      }
    }.flatten.distinctBy(source => System.identityHashCode(source.relation))
  }
}

object RowLayouts {
  /** Whether a node asks for the name of the file that is being read. */
  def namesFiles(node: LogicalPlan): Boolean = node.expressions.exists(_.exists {
    case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
    case _ => false
  })

  /** Why rows of each side of a join must not be in several tasks, or None if they may be. */
  def wholeIn(join: JoinType): Seq[Option[String]] = {
    val twice = Some(s"a ${LogicalNames.of(join)} join would pass rows of the other side once a task")
    join match {
      case _: InnerLike => Seq(None, None)
      case LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin => Seq(None, twice)
      case RightOuter => Seq(twice, None)
      case _ => Seq(twice, twice)
    }
  }
}
