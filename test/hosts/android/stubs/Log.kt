package android.util

object Log {
  fun d(@Suppress("UNUSED_PARAMETER") tag: String, line: String) = line.length
}
