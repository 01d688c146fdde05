/** As of Android 11: it writes beside the file, renames that, and reports no failure of either. */
package android.util

import java.io.File
import java.io.FileOutputStream
import java.util.concurrent.CountDownLatch

class AtomicFile(private val file: File) {
  private val next = File("$file.new")

  fun readFully(): ByteArray {
    if (next.exists() && file.exists()) next.delete()
    return file.inputStream().use { it.readBytes() }
  }

  fun startWrite() = FileOutputStream(next).also { hold?.also { hold = null }?.pass() }

  fun finishWrite(stream: FileOutputStream) {
    runCatching { stream.fd.sync() }
    runCatching { stream.close() }
    next.renameTo(file)
  }

  fun failWrite(stream: FileOutputStream) {
    runCatching { stream.close() }
    next.delete()
  }

  /** Holds a write that has been started. */
  class Hold {
    private val end = CountDownLatch(1)
    private val start = CountDownLatch(1)

    fun pass() = start.countDown().also { end.await() }

    fun awaitStart() = start.await()

    fun end() = end.countDown()
  }

  companion object {
    /** For the next write. */
    @Volatile var hold: Hold? = null
  }
}
