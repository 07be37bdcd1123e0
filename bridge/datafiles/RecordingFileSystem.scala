package org.apache.spark.sql.parquetry.datafiles

import java.io.{EOFException, InputStream, OutputStream}
import java.net.URI
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.mapred.JobConf
import org.apache.hadoop.util.Progressable

/** A file that has been written: its length, and its last bytes, where Parquet and ORC have their footers. */
private[datafiles] case class RecordedFile(path: Path, length: Long, tail: Array[Byte])

/**
 * A task's configuration that has file systems record the files that they write.
 *
 * Writers of Parquet and ORC take a path and a configuration, and ask Hadoop for the file system. With this
 * configuration they get a `RecordingFileSystem`. A copy of it is like any other: its file systems record
 * nothing.
 */
private[datafiles] class RecordingConfiguration(val of: Configuration) extends JobConf(of) {
  private val files = new ConcurrentHashMap[String, RecordedFile]()

  private[datafiles] def record(file: RecordedFile): Unit = files.put(file.path.toUri.getPath, file)
  private[datafiles] def recorded(path: Path): Option[RecordedFile] = Option(files.get(path.toUri.getPath))
  private[datafiles] def forget(path: Path): Unit = files.remove(path.toUri.getPath)

  /** Whether a setting is of a scheme, such as fs.s3a.impl; fs.s3a.s3.client.factory.impl is not. */
  private def isFileSystem(name: String, end: String) =
    name.startsWith("fs.") && name.endsWith(end) && !name.substring(3).dropRight(end.length).contains('.')
  override def getClass(name: String, default: Class[_]): Class[_] =
    if (isFileSystem(name, ".impl")) classOf[RecordingFileSystem] else super.getClass(name, default)
  override def getBoolean(name: String, default: Boolean): Boolean =
    isFileSystem(name, ".impl.disable.cache") || super.getBoolean(name, default)
}

/** The file system that Hadoop has for a path. It records what is written, and reads it from the record. */
private[datafiles] class RecordingFileSystem extends FilterFileSystem {
  private var files: RecordingConfiguration = _

  override def initialize(uri: URI, conf: Configuration): Unit = {
    files = conf.asInstanceOf[RecordingConfiguration]
    fs = FileSystem.get(uri, files.of)
  }

  override def create(path: Path, permission: FsPermission, overwrite: Boolean, bufferSize: Int, replication: Short,
      blockSize: Long, progress: Progressable): FSDataOutputStream =
    new FSDataOutputStream(new RecordingStream(NewFile.create(fs, path,
      fs.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)), path, files), null)

  override def open(path: Path, bufferSize: Int): FSDataInputStream =
    files.recorded(path).fold(fs.open(path, bufferSize))(file => new FSDataInputStream(new RecordedStream(file)))

  /** Does nothing: Hadoop shares the file system with others. */
  override def close(): Unit = ()
}

/** Creates files under names never used before. */
private[datafiles] object NewFile {
  private val Unchecked = "fs.s3a.create.performance"

  /**
   * Creates a file. S3A can leave out its requests for what is at the path already; elsewhere the file is
   * created as `otherwise` does.
   */
  def create(fs: FileSystem, path: Path, otherwise: => FSDataOutputStream): FSDataOutputStream =
    if (fs.hasPathCapability(path, Unchecked)) fs.createFile(path).create().overwrite(true).opt(Unchecked, true).build()
    else otherwise
}

/** Keeps the last bytes that are written: as many as `Kept` at least, or all. */
private class RecordingStream(to: FSDataOutputStream, path: Path, files: RecordingConfiguration)
  extends OutputStream with Syncable with StreamCapabilities {
  private final val Kept = 1 << 20 // bytes; a longer footer is read once the file is written
  private var last = new Array[Byte](1 << 14)
  private var size = 0
  private var length = 0L
  private var open = true

  override def write(byte: Int): Unit = {
    to.write(byte)
    keep(Array(byte.toByte), 0, 1)
  }
  override def write(bytes: Array[Byte], from: Int, count: Int): Unit = {
    to.write(bytes, from, count)
    keep(bytes, from, count)
  }

  private def keep(bytes: Array[Byte], from: Int, count: Int): Unit = {
    length += count
    val added = count.min(Kept)
    val kept = size.min(if (size + added > 2 * Kept) Kept - added else size)
    if (kept + added > last.length || kept < size) {
      val room = if (kept + added > last.length) (2 * last.length).max(kept + added).min(2 * Kept) else last.length
      val moved = if (room > last.length) new Array[Byte](room) else last
      System.arraycopy(last, size - kept, moved, 0, kept)
      last = moved
    }
    System.arraycopy(bytes, from + count - added, last, kept, added)
    size = kept + added
  }

  override def flush(): Unit = to.flush()
  override def hflush(): Unit = to.hflush()
  override def hsync(): Unit = to.hsync()
  override def hasCapability(capability: String): Boolean = to.hasCapability(capability)
  override def close(): Unit = if (open) {
    open = false
    to.close()
    files.record(RecordedFile(path, length, last.take(size)))
  }
}

/** Reads the end of a file from its record. */
private class RecordedStream(file: RecordedFile) extends InputStream with Seekable with PositionedReadable {
  private val first = file.length - file.tail.length
  private var at = 0L

  override def read(): Int = {
    val byte = new Array[Byte](1)
    if (read(byte, 0, 1) < 0) -1 else byte(0) & 0xff
  }
  override def read(bytes: Array[Byte], from: Int, count: Int): Int = {
    val found = read(at, bytes, from, count)
    at += found.max(0)
    found
  }
  override def read(position: Long, bytes: Array[Byte], from: Int, count: Int): Int =
    if (position >= file.length) -1
    else {
      if (position < first) throw new EOFException(s"only the bytes from $first on are recorded, not $position")
      val found = count.toLong.min(file.length - position).toInt
      System.arraycopy(file.tail, (position - first).toInt, bytes, from, found)
      found
    }
  override def readFully(position: Long, bytes: Array[Byte], from: Int, count: Int): Unit =
    if (read(position, bytes, from, count) < count) throw new EOFException(s"$count bytes at $position")
  override def readFully(position: Long, bytes: Array[Byte]): Unit = readFully(position, bytes, 0, bytes.length)
  override def seek(position: Long): Unit = at = position
  override def getPos: Long = at
  override def seekToNewSource(position: Long): Boolean = false
}
