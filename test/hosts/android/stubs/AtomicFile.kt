/** As Android's, without its recovery after a crash. */
package android.util

import java.io.File
import java.io.FileOutputStream

class AtomicFile(private val file: File) {
  fun readFully(): ByteArray = file.readBytes()

  fun startWrite() = FileOutputStream(file)

  fun finishWrite(stream: FileOutputStream) = stream.close()

  fun failWrite(stream: FileOutputStream) = stream.close()
}
