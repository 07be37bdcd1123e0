package org.apache.spark.sql.parquetry.datafiles

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.{JobContext, TaskAttemptContext}
import org.apache.spark.TaskContext
import org.apache.spark.internal.io.{FileCommitProtocol, FileNameSpec}
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage

/**
 * A file, the directory of its partition below the table, and the number of the slot that its rows belong to.
 *
 * @param modified when it was changed, in milliseconds
 * @param footer what `WrittenFooters` has of it, or None if it has to be read
 */
case class WrittenFile(directory: String, slot: Long, path: String, bytes: Long, modified: Long,
    footer: Option[Array[Byte]] = None)

/**
 * Writes files where they will stay, under names never used before. No reader sees a file before the
 * metastore's commit names it. So files are never moved, and a failed attempt only has to delete its files.
 *
 * If there are several `slots`, the last level of the directory that Spark gives a file, `…=3`, is the
 * number of its rows' slot. The `SlotDirectory` of this slot gives the file's directory, below its partition
 * or absolute, and the bucket in its name.
 */
class DirectCommitProtocol(folders: Folders, prefix: String, slots: Array[SlotDirectory])
  extends FileCommitProtocol with Serializable {
  private case class Begun(directory: String, slot: Long, suffix: String, name: String, path: Path)
  private case class Closed(bytes: Long, footer: Option[Array[Byte]])

  @transient private var files = Seq.empty[WrittenFile]
  @transient private var begun = ArrayBuffer.empty[Begun]
  @transient private var closed = Map.empty[Path, Closed]
  @transient private var footerBytesLeft = 0L

  def committed: Seq[WrittenFile] = files

  override def setupJob(job: JobContext): Unit = ()
  override def commitJob(job: JobContext, tasks: Seq[TaskCommitMessage]): Unit =
    files = tasks.flatMap(_.obj.asInstanceOf[Seq[WrittenFile]])

  /** On the driver: the files of tasks that succeeded, to be deleted if the job fails. */
  @transient private lazy val ended = new ConcurrentLinkedQueue[WrittenFile]()
  override def onTaskCommit(task: TaskCommitMessage): Unit =
    ended.addAll(task.obj.asInstanceOf[Seq[WrittenFile]].asJava)
  override def abortJob(job: JobContext): Unit =
    UncommittedFiles.delete(folders.root, ended.asScala.map(f => new Path(f.path)), job.getConfiguration)

  override def setupTask(task: TaskAttemptContext): Unit = {
    begun = ArrayBuffer.empty
    closed = Map.empty
    footerBytesLeft = WrittenFooters.allowance()
  }

  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], spec: FileNameSpec): String = {
    val id = task.getTaskAttemptID
    val (directory, slot) = splitSlot(dir.getOrElse(""))
    begin(directory, slot, f"$prefix-${id.getTaskID.getId}%05d-${id.getId}", spec.suffix.replaceFirst("^[-.]c\\d+", ""))
  }
  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], ext: String): String =
    newTaskTempFile(task, dir, FileNameSpec("", ext))
  override def newTaskTempFileAbsPath(task: TaskAttemptContext, dir: String, ext: String): String =
    throw new UnsupportedOperationException("partitions with a location of their own are known to the protocol")

  /** Begins the next file for the rows of a file that has become large enough. */
  def beginNext(path: String): String = {
    val first = begun.reverseIterator.find(_.path.toString == path).get
    begin(first.directory, first.slot, first.name, first.suffix)
  }

  /** Keeps what the task knows of a file that it has closed. */
  def close(path: Path, bytes: Long, footer: Option[Array[Byte]]): Unit = {
    val sent = footer.filter(_.length <= footerBytesLeft)
    footerBytesLeft -= sent.fold(0)(_.length)
    closed += path -> Closed(bytes, sent)
  }

  /**
   * Splits a directory as Spark names it into the partition's directory and the slot's number, its last
   * level.
   */
  private def splitSlot(directory: String): (String, Long) =
    if (slots.length < 2) (directory, 0)
    else {
      val last = directory.lastIndexOf('/')
      (directory.take(last.max(0)), directory.drop(directory.lastIndexOf('=') + 1).toLong)
    }

  private def begin(directory: String, slot: Long, name: String, suffix: String): String = {
    val path = SlotDirectory.find(slots, slot).path(folders(directory), slot, f"$name-${begun.size}%04d", suffix)
    begun += Begun(directory, slot, suffix, name, path)
    path.toString
  }

  override def commitTask(task: TaskAttemptContext): TaskCommitMessage = {
    // if the job has failed meanwhile, it never learns of these files, so the task itself has to delete them
    Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())
    new TaskCommitMessage(begun.toSeq.map { file =>
      val status: FileStatus = file.path.getFileSystem(task.getConfiguration).getFileStatus(file.path)
      val footer = closed.get(file.path).filter(_.bytes == status.getLen).flatMap(_.footer)
      WrittenFile(file.directory, file.slot, file.path.toString, status.getLen, status.getModificationTime, footer)
    })
  }
  override def abortTask(task: TaskAttemptContext): Unit =
    UncommittedFiles.delete(folders.root, begun.map(_.path), task.getConfiguration)
}
