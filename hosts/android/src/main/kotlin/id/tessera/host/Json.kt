/** JSON as maps, lists, strings, booleans, null, and numbers: Long if they are whole, otherwise Double. */
package id.tessera.host

internal object Json {
  /** Returns the object that `text` is; null for anything else, and for one that is nested more than 50 levels deep. */
  @Suppress("UNCHECKED_CAST")
  fun parse(text: String): Map<String, Any?>? =
    try {
      val parser = Parser(text)
      (parser.value(0) as? Map<String, Any?>).also { parser.end() }
    } catch (_: IllegalArgumentException) {
      null
    }

  fun write(value: Any?): String =
    when (value) {
      is Map<*, *> -> value.entries.joinToString(",", "{", "}") { (name, member) -> "${quote("$name")}:${write(member)}" }
      is List<*> -> value.joinToString(",", "[", "]", transform = ::write)
      is String -> quote(value)
      else -> "$value"
    }

  private val NUMBER = Regex("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")

  private fun quote(text: String) = buildString {
    append('"')
    for (one in text) if (one < ' ' || one in "\"\\\u2028\u2029") append("\\u%04x".format(one.code)) else append(one)
    append('"')
  }

  private class Parser(private val text: String) {
    private var at = 0

    fun end() = require(peek() == '\u0000' && at >= text.length)

    private fun peek(): Char {
      while (at < text.length && text[at] in " \t\r\n") at++
      return text.getOrElse(at) { '\u0000' }
    }

    private fun take(one: Char) = require(peek() == one).also { at++ }

    fun value(depth: Int): Any? {
      require(depth <= 50)
      return when (peek()) {
        '{' -> LinkedHashMap<String, Any?>().also { map -> items('}') { map[string()] = take(':').let { value(depth + 1) } } }
        '[' -> ArrayList<Any?>().also { list -> items(']') { list.add(value(depth + 1)) } }
        '"' -> string()
        else -> word()
      }
    }

    private fun items(end: Char, item: () -> Unit) {
      at++
      if (peek() != end) while (true) {
        item()
        if (peek() == end) break
        take(',')
      }
      at++
    }

    private fun string(): String {
      take('"')
      val found = StringBuilder()
      while (true) {
        val one = text.getOrElse(at++) { throw IllegalArgumentException() }
        require(one >= ' ')
        if (one == '"') return found.toString()
        found.append(if (one == '\\') escaped() else one)
      }
    }

    private fun escaped(): Char {
      val one = text.getOrElse(at++) { ' ' }
      if (one != 'u') return "\"\\/\b\u000c\n\r\t"["\"\\/bfnrt".indexOf(one).also { require(it >= 0) }]
      require(at + 4 <= text.length)
      return text.substring(at, at + 4).also { at += 4 }.toInt(16).toChar()
    }

    private fun word(): Any? {
      val start = at
      while (at < text.length && text[at] !in " \t\r\n,]}") at++
      val word = text.substring(start, at)
      if (word in setOf("true", "false", "null")) return if (word == "null") null else word == "true"
      require(NUMBER.matches(word))
      return word.toLongOrNull() ?: word.toDouble()
    }
  }
}
