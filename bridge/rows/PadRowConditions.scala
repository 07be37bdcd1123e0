package org.apache.spark.sql.parquetry.rows

import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions.{
  Alias, Attribute, AttributeMap, AttributeReference, Expression, NamedExpression, OuterReference, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{
  AnalysisHelper, Assignment, DeleteFromTable, InsertAction, KeepAnalyzedQuery, LogicalPlan, MergeAction, MergeIntoTable, Project, ReplaceData,
  UpdateTable, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog.CatalogV2Util
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.parquetry.predicates.PartitionPredicates
import org.apache.spark.sql.parquetry.table.{ParquetryTable, TableRelation}
import org.apache.spark.sql.types.{CharType, MetadataBuilder}

/**
 * Pads the chars that DELETE, UPDATE and MERGE read, as Spark pads the chars of a query. Spark pads them for
 * some of these statements only. A file of another writer may hold chars without their padding, and
 * conditions would not find them.
 */
object PadTargetChars extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: V2WriteCommand if conf.readSideCharPadding && !conf.charVarcharAsString => write.table match {
      case target @ TableRelation(_: ParquetryTable | _: RowLevelOperationTable) if paddings(write.query).isEmpty =>
        // the table that a MERGE only inserts into is read with the attributes that are written
        val query = padded(write.query)(read => isTarget(read) || read.outputSet == target.outputSet)
        if (query fastEquals write.query) write
        else write.withNewQuery(query) match {
          case keeps: KeepAnalyzedQuery => keeps.storeAnalyzedQuery()
          case other => other
        }
      case _ => write
    }
    case _ => plan
  }

  private def padded(query: LogicalPlan)(isRead: DataSourceV2Relation => Boolean): LogicalPlan = query.transformUpWithNewOutput {
    case read: DataSourceV2Relation if isRead(read) && hasChars(read) =>
      val ready = Project(typed(read).map(CharVarcharUtils.addPaddingForScan).zip(read.output).map {
        case (_: Attribute, same) => same
        case (padding, column) => Alias(padding, column.name)()
      }, read)
      ready -> read.output.zip(ready.output)
  }

  /** The padding of each char of a statement's table: of the column in files, and of the padded column. */
  def paddings(query: LogicalPlan): AttributeMap[Expression] = AttributeMap(query.collect {
    case p @ Project(_, read: DataSourceV2Relation) if isTarget(read) && hasChars(read) =>
      val found = PartitionPredicates.aliases(p).toSeq
      typed(read).flatMap { column =>
        val padding = CharVarcharUtils.addPaddingForScan(column)
        found.collectFirst { case (padded, alias) if alias.child.semanticEquals(padding) => Seq(column -> alias.child, padded -> alias.child) }
      }.flatten
  }.flatten)

  private def isTarget(read: DataSourceV2Relation): Boolean = read.table.isInstanceOf[RowLevelOperationTable]

  private def hasChars(read: DataSourceV2Relation): Boolean =
    CatalogV2Util.v2ColumnsToStructType(read.table.columns()).existsRecursively(_.isInstanceOf[CharType])

  /** The columns of a table with their types CHAR, which Spark takes away for some statements. */
  private def typed(read: DataSourceV2Relation): Seq[AttributeReference] = {
    val types = CharVarcharUtils.replaceCharVarcharWithStringInSchema(CatalogV2Util.v2ColumnsToStructType(read.table.columns()))
      .map(field => field.name -> field.metadata).toMap
    read.output.map(column => types.get(column.name).fold(column)(column.withMetadata))
  }
}

/**
 * Puts the padding of a char into a statement's condition. If Spark pads a char of the table, the condition
 * is about the padded column. Spark 4.3.0 does not find that column when it pushes the condition down, nor
 * when it searches the files with matches.
 */
object PadRowConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case r: ReplaceData if GuardRowConditions.isOurs(r) =>
      val padded = PadTargetChars.paddings(r.query)
      if (padded.isEmpty) r
      else r.copy(condition = Padding.inlined(r.condition, padded),
        groupFilterCondition = r.groupFilterCondition.map(Padding.inlined(_, padded)))
    case _ => plan
  }
}

/**
 * Takes the padding of chars away from the tables of DELETE, UPDATE and MERGE until `PadTargetChars` puts it
 * back. Spark 4.0 pads some statements' tables below the statement, and then does not find the table.
 */
object UnpadTargets extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d @ DeleteFromTable(Padded(table, unpadded), condition) => d.copy(table, unpadded(condition))
    case u @ UpdateTable(Padded(table, unpadded), assignments, condition) =>
      u.copy(table, assignments.map(unpadded(_).asInstanceOf[Assignment]), condition.map(unpadded))
    case m: MergeIntoTable => m.targetTable match {
      case Padded(table, unpadded) =>
        def ready(clauses: Seq[MergeAction]) = clauses.map(unpadded(_).asInstanceOf[MergeAction])
        m.copy(targetTable = table, mergeCondition = unpadded(m.mergeCondition), matchedActions = ready(m.matchedActions),
          notMatchedActions = ready(m.notMatchedActions), notMatchedBySourceActions = ready(m.notMatchedBySourceActions))
      case _ => m
    }
    case _ => plan
  }

  private object Padded {
    def unapply(target: LogicalPlan): Option[(LogicalPlan, Expression => Expression)] = EliminateSubqueryAliases(target) match {
      case padding @ Project(_, table @ TableRelation(_: ParquetryTable)) =>
        Some((table, Padding.inlined(_, AttributeMap(padding.output.zip(table.output)))))
      case _ => None
    }
  }
}

/**
 * Takes the type CHAR from the metadata of written values. Spark 4.0 compares it with the type of the column,
 * whose metadata it has taken away, and its optimizer would stop at a write that seems no longer resolved.
 */
object UntypeWrittenChars extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case m: MergeIntoTable if m.matchedActions.isEmpty && m.notMatchedBySourceActions.isEmpty && isOurs(m.targetTable) =>
      m.copy(notMatchedActions = m.notMatchedActions.map {
        case insert: InsertAction => insert.copy(assignments = insert.assignments.map(each => each.copy(value = untyped(each.value))))
        case other => other
      })
    case write: V2WriteCommand if isOurs(write.table) && write.table.output.forall(isUntyped) => write.query match {
      // Spark checks the lengths of values in the lower projection, and casts them in the upper one
      case cast @ Project(_, checked: Project) => write.withNewQuery(untyped(cast).copy(child = untyped(checked)))
      case values: Project => write.withNewQuery(untyped(values))
      case _ => write
    }
    case _ => plan
  }

  private def isOurs(target: LogicalPlan): Boolean = EliminateSubqueryAliases(target) match {
    case TableRelation(_: ParquetryTable) => true
    case _ => false
  }

  private def isUntyped(column: Attribute): Boolean = CharVarcharUtils.getRawType(column.metadata).isEmpty

  private def untyped(values: Project): Project =
    values.copy(values.projectList.map(untyped(_).asInstanceOf[NamedExpression]))

  private def untyped(value: Expression): Expression = value.transform {
    case column: AttributeReference => CharVarcharUtils.cleanAttrMetadata(column)
    case a: Alias =>
      val metadata = new MetadataBuilder().withMetadata(a.metadata).remove(CharVarcharUtils.CHAR_VARCHAR_TYPE_STRING_METADATA_KEY).build()
      Alias(a.child, a.name)(a.exprId, a.qualifier, Some(metadata), a.nonInheritableMetadataKeys)
  }
}

private object Padding {
  /** A condition with other expressions in place of some columns, also where subqueries name them. */
  def inlined(condition: Expression, by: AttributeMap[Expression]): Expression = condition.transformUp {
    case a: Attribute => by.getOrElse(a, a)
    case subquery: SubqueryExpression =>
      def outer(node: LogicalPlan) = node.transformExpressionsUp {
        case OuterReference(a) if by.contains(a.toAttribute) => by(a.toAttribute).transformUp { case of: Attribute => OuterReference(of) }
      }
      subquery.withNewPlan(AnalysisHelper.allowInvokingTransformsInAnalyzer(subquery.plan.transform { case node => outer(node) }))
  }
}
