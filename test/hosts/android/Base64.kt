package android.util

object Base64 {
  const val DEFAULT = 0

  /** As Android's, it skips line ends. */
  fun decode(text: String, @Suppress("UNUSED_PARAMETER") flags: Int): ByteArray =
    java.util.Base64.getDecoder().decode(text.filterNot { it == '\n' || it == '\r' })
}
