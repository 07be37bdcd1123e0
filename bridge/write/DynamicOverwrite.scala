package org.apache.spark.sql.parquetry.write

import scala.jdk.CollectionConverters._

import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

import org.apache.spark.sql.catalyst.expressions.{And, Cast, EqualNullSafe, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.SQLConf.PartitionOverwriteMode
import org.apache.spark.sql.parquetry.table.ParquetryTable
import org.apache.spark.sql.parquetry.versions.{Append, Overwrite, OverwritePartitions}
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Makes a dynamic overwrite an append with a mode of our own, since Spark refuses a V1 write for it. An
 * overwrite whose PARTITION clause gives a value for each partition column is static in any mode, as in
 * Spark's own tables and in Hive, and overwrites by these values.
 */
object DynamicOverwrite extends Rule[LogicalPlan] {
  val option = "parquetry.overwrite-partitions"
  private val staticValuesOption = "parquetry.given-values" // Spark forgets what the clause gave

  /**
   * Adds the values of a statement's PARTITION clause to a relation's options, if the session's mode would
   * make the statement a dynamic overwrite.
   */
  def withStaticValues(options: CaseInsensitiveStringMap, insert: InsertIntoStatement): CaseInsensitiveStringMap = {
    val spec = insert.partitionSpec
    val dynamic = SQLConf.get.partitionOverwriteMode == PartitionOverwriteMode.DYNAMIC
    if (!insert.overwrite || !dynamic || spec.isEmpty || spec.exists(_._2.isEmpty)) options
    else {
      val values = spec.toList.map { case (name, value) => name -> value.filter(_ != null).fold[JValue](JNull)(JString(_)) }
      new CaseInsensitiveStringMap((options.asCaseSensitiveMap().asScala + (staticValuesOption -> compact(render(JObject(values))))).asJava)
    }
  }

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case o @ OverwritePartitions(r: DataSourceV2Relation, query, options, byName, evolves, None)
        if o.resolved && r.table.isInstanceOf[ParquetryTable] =>
      val table = r.table.asInstanceOf[ParquetryTable]
      val said = r.options.asCaseSensitiveMap().asScala.toMap
      val others = said.filterNot(_._1.equalsIgnoreCase(staticValuesOption))
      conditions(r).filter(_.length == table.partitionColumns.length) match {
        case Some(these) =>
          val relation = r.copy(options = new CaseInsensitiveStringMap(others.asJava))
          Overwrite(relation, these.reduceLeft(And(_, _)), query, options, byName, evolves)
        case None =>
          val marked = options ++ others + (option -> "true")
          // statement and relation each carry options or none; Spark refuses two that differ
          val relation = if (r.options.isEmpty) r else r.copy(options = new CaseInsensitiveStringMap(marked.asJava))
          Append(relation, query, marked, byName, evolves)
      }
  }

  /** The values of the PARTITION clause, each as Spark's condition of a static overwrite. */
  private def conditions(relation: DataSourceV2Relation): Option[Seq[Expression]] =
    Option(relation.options.get(staticValuesOption)).map(parse(_)).collect { case JObject(values) =>
      val conf = SQLConf.get
      for ((name, value) <- values; column <- relation.output.find(a => conf.resolver(a.name, name))) yield {
        val text = value match { case JString(s) => s; case _ => null }
        EqualNullSafe(column, Cast(Literal.create(text, StringType), column.dataType, Some(conf.sessionLocalTimeZone)))
      }
    }
}
