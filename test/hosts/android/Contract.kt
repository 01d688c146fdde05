/** Drives a machine through the cases of hosts/contract/cases.txt, as test/react-native/contract.ts does, and prints what it does. */
package id.tessera.host

import java.io.File

private val UNITS = mapOf('s' to 1_000L, 'm' to 60_000L, 'h' to 3_600_000L, 'd' to 86_400_000L)

private fun ms(text: String) = (text.dropLast(1).toDouble() * UNITS.getValue(text.last())).toLong()

private class World(private val owner: Owner) : Effects {
  private val sets = HashMap<String, Map<String, Any>>()
  private val pending = mutableListOf<Int>()
  private var trueMs = 1_894_708_800_000L
  private var offMs = 0L
  private var uptimeMs = 0L
  private var timerAt: Long? = null
  private var stored: String? = null
  private val modes = hashMapOf("reads" to "work", "writes" to "work")
  private val ready = ArrayDeque<() -> Unit>()
  private val held = mutableListOf<() -> Unit>()
  private var said = mutableListOf<String>()
  private var shown: String? = null
  private var reaction: String? = null
  private var machine: Machine? = null
  val log = mutableListOf<String>()

  private fun wire(name: String, due: String = "15m", expires: String = "60m") = sets.getOrPut(name) {
    mapOf(
      "advertising_token" to "token-$name",
      "refresh_token" to "refresh-$name",
      "refresh_response_key" to java.util.Base64.getEncoder().encodeToString(ByteArray(32) { name[0].code.toByte() }),
      "refresh_from" to trueMs + ms(due),
      "identity_expires" to trueMs + ms(expires),
      "refresh_expires" to trueMs + ms("30d"),
    )
  }

  private fun answerOf(name: String) = when (name) {
    "optout" -> Answer.OPTED_OUT
    "nobody" -> Answer.SIGNED_OUT
    else -> Answer(User.signedIn, TokenSet(wire(name)))
  }

  private fun short(token: Any?) = token?.toString()?.replace("token-", "") ?: "none"

  private fun nameOf(body: Any?) = (body as? Map<*, *>).let { if (it?.get("status") == "optout") "optout" else short(it?.get("advertising_token")) }

  private fun join(vararg parts: Any?) = parts.filter { it != null && it != "" }.joinToString(" ")

  private fun operate(mode: String, end: () -> Unit, fail: () -> Unit) {
    if (modes[mode] == "hang") held.add(end) else ready.add(if (modes[mode] == "fail") fail else end)
  }

  override fun wall() = trueMs + offMs

  override fun uptime() = uptimeMs

  override fun wakeIn(ms: Long?) {
    timerAt = ms?.plus(uptimeMs)
  }

  override fun read() {
    said.add("read")
    operate("reads", { machine!!.readEnded(stored) }) { machine!!.readEnded(null, "locked") }
  }

  override fun write(id: Int, text: String) {
    val state = Json.parse(text)!!
    val told = (state["told"] as? Map<*, *>)?.let { "(${short(it["token"])})" }
    said.add("write " + join(state["user"], state["set"]?.let(::nameOf) ?: told, state["gen"]))
    val end = {
      stored = text
      machine!!.writeEnded(id)
    }
    operate("writes", end) { machine!!.writeEnded(id, "full") }
  }

  override fun refresh(id: Int, set: TokenSet) {
    said.add("ask ${short(set.told.token)}")
    pending.add(id)
  }

  override fun cancel(id: Int) {
    said.add("cancel")
  }

  override fun send(view: Int, text: String) {
    val message = Json.parse(text)!!
    val (kind, type) = message["kind"] to message["type"]
    val more = message["error"] ?: if (type == "hello" || type == "clear") "" else nameOf(message["body"])
    said.add(join("p$view", kind.takeIf { it != "evt" }, type, more, message["gen"]))
  }

  override fun settled(change: Int, error: String?) {
    said.add(if (error == null) "stored" else "refused")
  }

  override fun released() {
    said.add("free")
  }

  override fun token(advertisingToken: String?) {
    said.add("token ${short(advertisingToken)}")
    reaction?.also { reaction = null }?.let(::act)
  }

  override fun needsTokens(request: Int) {
    said.add("needs $request")
  }

  override fun log(line: String) {
    log.add(line)
  }

  private fun answer(words: List<String>) {
    val date = words.indexOf("date").let { if (it < 0) 0 else trueMs + ms(words[it + 1]) }
    val after = if (words.getOrNull(3) == "after") ms(words[4]) else 0
    val kind = Kind.valueOf(words[2].uppercase())
    val set = if (kind == Kind.SUCCESS) answerOf(words[3]).set else null
    machine!!.refreshEnded(pending[words[1].toInt() - 1], Outcome(kind, "", set, date, after))
  }

  private fun page(words: List<String>, line: String) {
    val view = words[1].drop(1).toInt()
    val type = words[2]
    if (type == "raw") return machine!!.received(view, line.substringAfter(" raw "))
    val body = if (type != "changed") null
    else if (words[4] == "token")
      mapOf("phase" to "fresh", "advertisingToken" to "token-${words[5]}", "expiresAt" to trueMs + ms("30m"))
    else mapOf("phase" to words[4])
    val kind = if (type == "changed") "evt" else "req"
    val message = mapOf("v" to 1, "ns" to "tessera", "kind" to kind, "id" to "1", "type" to type, "body" to body)
    machine!!.received(view, Json.write(message).dropLast(1) + ",\"gen\":${words[3]}}")
  }

  private fun settle() {
    while (ready.isNotEmpty()) ready.removeFirst()()
  }

  private fun advance(span: Long) {
    val end = uptimeMs + span
    settle()
    while (true) {
      val at = timerAt?.takeIf { it <= end } ?: break
      val passed = maxOf(0, at - uptimeMs)
      timerAt = null
      uptimeMs += passed
      trueMs += passed
      machine!!.wake()
      settle()
    }
    trueMs += end - uptimeMs
    uptimeMs = end
  }

  private fun act(line: String) {
    val words = line.split(" ")
    val first = words.getOrElse(1) { "" }
    when (words[0]) {
      "start" -> {
        ready.clear()
        held.clear()
        timerAt = null
        shown = null
        machine = Machine(owner, this).also(Machine::start)
      }
      "make" -> wire(first, words[2], words[3])
      "signedIn" -> machine!!.changed(answerOf(first))
      "signedOut" -> machine!!.changed(Answer.SIGNED_OUT)
      "renew" -> machine!!.renew(first.toInt(), answerOf(words[2]))
      "resume" -> machine!!.resume()
      "pause" -> machine!!.pause()
      "close" -> machine!!.close()
      "left" -> machine!!.left(first.drop(1).toInt())
      "page" -> page(words, line)
      "answer" -> answer(words)
      "reads", "writes" -> modes[words[0]] = first
      "storage" -> {
        ready.addAll(held)
        held.clear()
      }
      "store" -> stored = line.removePrefix("store ")
      "react" -> reaction = first
      "wait" -> advance(ms(first))
      "sleep" -> trueMs += ms(first)
      "clock" -> offMs += ms(first)
      else -> throw IllegalArgumentException("unknown word: ${words[0]}")
    }
  }

  fun step(action: String): String {
    said = mutableListOf()
    act(action)
    settle()
    val token = machine?.advertisingToken
    if (token != shown) said.add("shows ${short(token)}")
    shown = token
    return if (said.isEmpty()) "  $action" else "  $action -> ${said.joinToString("; ")}"
  }
}

/** @param arguments  the file of the cases. */
fun main(arguments: Array<String>) {
  val logs = mutableListOf<String>()
  for (case in File(arguments[0]).readText().trim().split("\n\n").filter { it[0].isDigit() }) {
    val lines = case.lines()
    println(lines[0])
    val world = World(if (lines[0].substringBefore(":").endsWith("page")) Owner.PAGE else Owner.APP)
    for (line in lines.drop(1)) println(world.step(line.trim().substringBefore(" ->")))
    println()
    logs.addAll(world.log)
  }
  check(logs.none { "token-" in it || "refresh-" in it }) { "the log has a token" }
}
