package org.apache.spark.sql.parquetry.protocol

import org.apache.spark.SPARK_VERSION_SHORT
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.trees.Origin

/**
 * An error of Parquetry. For Spark's users it is an analysis error whose condition is our code.
 *
 * @param sqlState the SQLSTATE that clients of SQL see; KD000 is Spark's own for data sources
 */
class ParquetryException(val code: String, text: String, sqlState: String = "KD000")
  extends AnalysisException(s"[PARQUETRY_$code] ${ParquetryException.shortened(code, text)}", None, None, None, Some(s"PARQUETRY_$code"), Map.empty, Array.empty) {
  override def getSqlState: String = sqlState
  /** This error: Spark would make a plain one of it, whose condition its own list of texts lacks. */
  override def withPosition(origin: Origin): AnalysisException = this
}

object ParquetryException {
  /** Whether this series of Spark lacks a feature. */
  def isLacking(feature: String): Boolean = BridgeVersion.lacking.contains(feature)

  /**
   * Refuses what needs a feature that this series of Spark lacks, or does nothing if it has the feature.
   *
   * @param feature its key in `parquetry.config.spark_versions`, whose words the error has
   * @param what returns None if the user wants something else. Otherwise it returns the statement with the
   *   table's name, and a sentence that says what to do instead.
   */
  def refuseLacking(feature: String)(what: => Option[(String, String)]): Unit = for {
    why <- BridgeVersion.lacking.get(feature)
    (wanted, remedy) <- what
  } throw new ParquetryException("UNSUPPORTED", s"$wanted: on Spark $SPARK_VERSION_SHORT, $why. $remedy")

  /** Characters of a message (`texts.py`): it may quote a text of a user, of any length. */
  private val longest = 900
  /** Errors that quote what a program printed, which has a length of its own. */
  private val withOutput = Set("PLANNER_NOT_STARTED", "BRIDGE")

  /** The beginning and the end of a long text: the end has the remedy. */
  private def shortened(code: String, text: String): String =
    if (text.length <= longest || withOutput(code)) text
    else s"${text.take(longest / 2)} … ${text.length} characters in all … ${text.takeRight(longest / 3)}"
}
