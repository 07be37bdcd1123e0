package org.apache.spark.sql.parquetry.table

import java.util

import org.apache.spark.sql.parquetry.protocol.{PlannerAnswer, PlannerQuestion}

/**
 * The planner's answers about one version of a table. A version never changes, so a session asks each
 * question about it once. The answers belong to the version's description: if the planner describes the table
 * anew, even under the same number, nothing of them remains.
 *
 * The least recently used answers are dropped first, and long ones are not kept.
 */
class VersionAnswers {
  private val answers = new util.LinkedHashMap[String, PlannerAnswer](16, 0.75f, true)
  private var characters = 0L

  /** Returns the answer to a question, and asks the planner if the question is new. */
  def of(question: PlannerQuestion): PlannerAnswer = synchronized(Option(answers.get(question.text))).getOrElse {
    val answer = question.ask()
    keep(question.text, answer)
    answer
  }

  private def keep(text: String, answer: PlannerAnswer): Unit = synchronized {
    val length = text.length + answer.length
    if (length <= VersionAnswers.MaxCharactersPerAnswer && answers.put(text, answer) == null) {
      characters += length
      val oldest = answers.entrySet().iterator()
      while (characters > VersionAnswers.MaxCharacters) {
        val entry = oldest.next()
        characters -= entry.getKey.length + entry.getValue.length
        oldest.remove()
      }
    }
  }
}

private object VersionAnswers {
  private val MaxCharactersPerAnswer = 100000
  private val MaxCharacters = 1000000L
}
