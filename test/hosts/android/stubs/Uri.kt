package android.net

class Uri(private val text: String) {
  override fun toString() = text
}
