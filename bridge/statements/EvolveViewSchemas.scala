package org.apache.spark.sql.parquetry.statements

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{SchemaEvolution, SchemaTypeEvolution}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, View}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.parquetry.catalog.PlannerCatalog
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.SchemaUtils

/**
 * Records the columns of views `WITH SCHEMA EVOLUTION` and `WITH SCHEMA TYPE EVOLUTION` if their query has
 * other columns by now. Spark's own rule does this only for views of its session catalog, and fails for all
 * others; after this rule it finds nothing to do.
 */
case class EvolveViewSchemas(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case view: View if !view.isTempView && view.child.resolved && evolves(view.desc) =>
      catalogOf(view.desc).fold(view) { case (catalog, ident) =>
        val (known, now) = (view.desc.schema, columns(view.desc, view.child.schema))
        if (shape(view.desc, known) != shape(view.desc, now)) {
          SchemaUtils.checkColumnNameDuplication(now.fieldNames.toIndexedSeq, session.sessionState.conf.caseSensitiveAnalysis)
          catalog.evolveView(ident, now)
        }
        view.copy(desc = view.desc.copy(schema = now))
      }
  }

  private def evolves(desc: CatalogTable): Boolean =
    desc.viewSchemaMode == SchemaEvolution || desc.viewSchemaMode == SchemaTypeEvolution

  private def catalogOf(desc: CatalogTable): Option[(PlannerCatalog, Identifier)] = desc.identifier.nameParts match {
    case Seq(catalog, database, name) => session.sessionState.catalogManager.catalog(catalog) match {
      case ours: PlannerCatalog => Some((ours, Identifier.of(Array(database), name)))
      case _ => None
    }
    case _ => None
  }

  /** The new columns of a view. If only types evolve, a column keeps its metadata. */
  private def columns(desc: CatalogTable, now: StructType): StructType =
    if (desc.viewSchemaMode == SchemaEvolution) now
    else StructType(now.map(f => desc.schema.find(_.name == f.name).fold(f)(known => f.copy(metadata = known.metadata))))

  /**
   * A view is recorded anew if this part of its schema changes. Comments count only if it takes them from its
   * query.
   */
  private def shape(desc: CatalogTable, schema: StructType) = schema.map(f =>
    (f.name, f.dataType, f.nullable, if (desc.viewSchemaMode == SchemaEvolution) f.getComment() else None))
}
