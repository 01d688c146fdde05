/**
 * The rules of a host, without its surroundings. Every method is called on one thread. It first changes the state, then tells the pages,
 * and tells the app when the state is stored. src/react-native of the repository has the same machine; hosts/contract/ describes both.
 */
package id.tessera.host

private const val LATE_MS = 10_000L
private const val TIMEOUT_MS = 60_000L
private const val FIRST_PAUSE_MS = 5_000L
private const val MAX_PAUSE_MS = 300_000L
private const val MIN_PAUSE_MS = 30_000L
private const val DUE_ON_ARRIVAL_MS = 60_000L
private const val DAY_MS = 86_400_000L
private const val NEVER = Long.MAX_VALUE
private const val MAX_LENGTH = 65_536

/** How far a page's `gen` may be ahead. */
private const val MAX_STEPS = 1_000

/** The pauses after answers that say neither yes nor no; the answer after the last one ends the set. */
private val REFUSED_PAUSES_MS = listOf(30_000L, 120_000L, 600_000L)

private fun pauseMs(failures: Int) = minOf(FIRST_PAUSE_MS shl minOf(failures, 10), MAX_PAUSE_MS)

/** The storage: unknown until it has been read, and a change is done when it is stored. */
internal class Storing(
  private val effects: Effects,
  private val clock: () -> Long,
  private val text: () -> String,
  private val known: (State) -> Unit,
) {
  /** False until the storage has been read, or the app has said who is signed in. */
  var isKnown = false
    private set

  /** A write is running, and is not late. */
  var isWriting = false
    private set

  var isClosed = false
    private set

  private var isReading = false
  private var readFailures = 0

  /** When a read is late or, between two reads, when the next one starts. */
  private var readAt = 0L
  private var isLateAt = 0L

  /** The number of the last change, and of the last one that was written, which is the number of the write. */
  private var changes = 0
  private var written = 0

  /** The storage has refused the last state. */
  private var isUnsaved = false

  /** How many writes have not ended, also late ones. */
  private var running = 0

  fun read() {
    if (isKnown || isReading) return
    readAt = clock() + LATE_MS
    isReading = true
    effects.read()
  }

  /** Also of a read that was late. */
  fun readEnded(text: String?, error: String?) {
    if (isKnown) return
    if (error != null) return readFailed(error)
    isKnown = true
    known(State.parse(text))
  }

  private fun readFailed(error: String) {
    effects.log("storage, read: $error")
    isReading = false
    readAt = clock() + pauseMs(readFailures++)
  }

  fun close() {
    isKnown = true
    isClosed = true
    release()
  }

  /** A write that has not ended could replace what the next host writes. */
  private fun release() {
    if (isClosed && running == 0) effects.released()
  }

  /** Write the state, as soon as no other write is running. Returns the number of the change. */
  fun save(): Int {
    isKnown = true
    changes++
    write()
    return changes
  }

  /** Try a refused write again. */
  fun retry() {
    if (isUnsaved && !isWriting && !isClosed) save()
  }

  private fun write() {
    if (isWriting || written == changes) return
    isWriting = true
    running++
    written = changes
    isLateAt = clock() + LATE_MS
    effects.write(written, text())
  }

  fun writeEnded(id: Int, error: String?) {
    running--
    if (isWriting && id == written) endWrite(error)
    else if (error == null) {
      // It was late: it may have replaced a newer state.
      if (id == written) isUnsaved = false else save()
    }
    release()
  }

  private fun endWrite(error: String?) {
    if (error != null) effects.log("storage, write: $error")
    isWriting = false
    isUnsaved = error != null
    val ended = written
    write()
    effects.settled(ended, error)
  }

  fun wake(isActive: Boolean) {
    val at = clock()
    if (isWriting && at >= isLateAt) endWrite("late")
    if (isKnown || at < readAt) return
    if (isReading) readFailed("late") else if (isActive) read()
  }

  fun nextAt(isActive: Boolean): Long =
    minOf(if (!isKnown && (isActive || isReading)) readAt else NEVER, if (isWriting) isLateAt else NEVER)
}

/** Refreshes of the set: when the next one starts, how long it may take, and the pause after one that has failed. */
internal class Refreshing(private val effects: Effects, private val clock: () -> Long) {
  /** The service's clock minus this device's, ms; 0 within a minute. */
  var offset = 0L
    private set

  /** The service no longer accepts the set. */
  var isRefused = false
    private set

  private var running: Int? = null
  private var starts = 0
  private var endsAt = 0L
  private var failures = 0
  private var refusals = 0

  /** No refresh starts before these instants. `resume` ends only the pause after a failure, not one for which the service asks. */
  private var retryAt = 0L
  private var notBefore = 0L

  val isRunning: Boolean
    get() = running != null

  /** The set or its user has changed: what is running belongs to the former one. */
  fun reset() {
    running?.let(effects::cancel)
    running = null
    isRefused = false
    failures = 0
    refusals = 0
    retryAt = 0
    notBefore = 0
  }

  fun resume() {
    retryAt = 0
  }

  /** When the next one starts. */
  fun dueAt(set: TokenSet?, isAtOnce: Boolean): Long {
    if (set == null || isRunning || isRefused) return NEVER
    return maxOf(if (isAtOnce) 0 else set.refreshFrom - offset, retryAt, notBefore)
  }

  fun start(set: TokenSet) {
    endsAt = clock() + TIMEOUT_MS
    running = ++starts
    effects.refresh(starts, set)
  }

  /** Returns whether the outcome counts. */
  fun ended(id: Int, outcome: Outcome): Boolean {
    if (id != running) return false
    running = null
    effects.log("refresh: ${outcome.kind.name.lowercase()} ${outcome.why}".trim())
    if (outcome.date != 0L) offset = (outcome.date - clock()).let { if (it in -59_999..59_999) 0 else it }
    if (outcome.kind == Kind.SUCCESS || outcome.kind == Kind.OPTOUT) return true
    val pause = if (outcome.kind == Kind.REFUSED) REFUSED_PAUSES_MS.getOrNull(refusals++) else 0
    isRefused = outcome.kind == Kind.ENDED || pause == null
    if (outcome.kind == Kind.FAILED) retryAt = clock() + pauseMs(failures++)
    notBefore = clock() + maxOf(pause ?: 0, minOf(outcome.retryAfterMs, DAY_MS))
    return true
  }

  /** End the one that has taken too long. */
  fun wake() {
    val id = running ?: return
    if (clock() < endsAt) return
    effects.cancel(id)
    ended(id, Outcome(Kind.FAILED, "timeout"))
  }

  fun nextAt(): Long = if (isRunning) endsAt else NEVER

  /** A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody. */
  fun arrived(set: TokenSet) {
    val now = clock() + offset
    val expiresAt = set.told.expiresAt
    if (set.refreshFrom - now > minOf(DUE_ON_ARRIVAL_MS, (expiresAt - set.refreshFrom) / 20)) return
    notBefore = maxOf((maxOf(set.refreshFrom, now) + expiresAt) / 2, now + MIN_PAUSE_MS) - offset
  }
}

internal class Machine(private val owner: Owner, private val effects: Effects) {
  /** The page in a view. `hasGreeted`: it has sent `hello`. `isHandedBack`: it had lost the set, and has been handed it once more. */
  private class Page(var hasGreeted: Boolean = false, var isHandedBack: Boolean = false)

  private var state = State()
  private val pages = LinkedHashMap<Int, Page>()
  private var isActive = true
  private var clockMs = 0L
  private var uptimeMs = effects.uptime()
  private var lastToken: String? = null
  private var isAskDue = false

  /** How many requests for tokens there were, and how many of them no answer counts for any more. */
  private var requests = 0
  private var answered = 0
  private val refreshing = Refreshing(effects, ::clock)
  private val storing = Storing(effects, ::clock, { state.toString() }, ::known)

  val isClosed: Boolean
    get() = storing.isClosed

  val advertisingToken: String?
    get() = told()?.takeIf { clock() + refreshing.offset < it.expiresAt }?.token

  /** Until when [advertisingToken] is valid, epoch ms of this device; and how long that is. */
  val expiresAt: Long
    get() = (told()?.expiresAt ?: 0) - refreshing.offset

  val remainingMs: Long
    get() = expiresAt - clock()

  fun start() = enter { storing.read() }

  /** As all changes, it returns its number. */
  fun changed(answer: Answer): Int = enter { adopt(answer, state.gen + 1) }

  /** Returns 0 if the request no longer counts. */
  fun renew(request: Int, answer: Answer): Int = enter {
    if (request > answered) adopt(answer, state.gen + if (answer.set == null) 1 else 0)
    else 0.also { effects.log("renew: late, nothing has changed") }
  }

  fun resume() = enter {
    isActive = true
    isAskDue = true
    storing.read()
    storing.retry()
    refreshing.resume()
  }

  fun pause() = enter {
    isActive = false
    storing.retry()
  }

  /** A write that is running still ends. */
  fun close() {
    if (!isClosed) enter {
      refreshing.reset()
      answered = requests
      pages.clear()
      storing.close()
    }
  }

  fun left(view: Int) {
    pages.remove(view)
  }

  fun wake() = enter {
    storing.wake(isActive)
    refreshing.wake()
  }

  fun readEnded(text: String?, error: String? = null) = enter { storing.readEnded(text, error) }

  fun writeEnded(id: Int, error: String? = null) = enter { storing.writeEnded(id, error) }

  fun refreshEnded(id: Int, outcome: Outcome) = enter {
    if (!refreshing.ended(id, outcome)) return@enter
    if (outcome.kind == Kind.OPTOUT) adopt(Answer.OPTED_OUT, state.gen + 1)
    if (outcome.set != null) {
      adopt(Answer(User.signedIn, outcome.set), state.gen)
      refreshing.arrived(outcome.set)
    }
    if (!refreshing.isRefused) return@enter
    // A user who has opted out, and whose set has ended, is nobody who needs another.
    if (state.user == User.optedOut) change(State(state.gen, User.optedOut))
    isAskDue = true
  }

  /** Read a message of a page, and answer it. */
  fun received(view: Int, text: String) = enter {
    val message = if (isClosed || text.length > MAX_LENGTH) null else Json.parse(text)
    val kind = message?.get("kind")
    val type = message?.get("type")
    if (message == null || message["ns"] != "tessera" || type !is String || (kind != "req" && kind != "evt")) return@enter
    if (message["id"] !is String?) return@enter
    if (message["v"] != 1L) {
      if (kind == "req") respond(view, message, null, "version")
      return@enter
    }
    val gen = State.genOf(message["gen"]) ?: return@enter
    val body = message["body"] as? Map<*, *> ?: emptyMap<String, Any?>()
    val told = body["advertisingToken"]?.let { State.toldOf(it, body["expiresAt"]) ?: return@enter }
    val phase = body["phase"]
    if (gen > state.gen + MAX_STEPS || (type == "changed" && phase !is String)) return@enter
    val page = pages.getOrPut(view) { Page() }
    if (type == "hello") pages[view] = Page(hasGreeted = true)
    effects.log("page: $kind ${type.take(20)}, gen $gen")
    if (type == "changed") pageChanged(view, page, gen, phase, told)
    if (kind == "req" && (type != "get" || !isWaiting)) respond(view, message, if (type == "get") answer() else null)
  }

  private fun pageChanged(view: Int, page: Page, gen: Long, phase: Any?, told: Told?) {
    val by = if (told != null) User.signedIn else if (phase == "optedOut") User.optedOut else User.signedOut
    if (gen < state.gen) {
      // The page has not yet received what the app has done, or has another page's user from their storage, and not the number.
      if (told != null && told.token == state.told?.token) greet(view)
    } else if (!storing.isKnown) {
      // Only what the page has done since it has connected: `gen` counts from there.
      if (gen > state.gen && page.hasGreeted) state = State(gen, by, null, told)
    } else if (gen > state.gen) {
      // The set belongs to the user before.
      change(State(gen, by, null, told))
      if (told == null) tellAll(view)
    } else if (state.user == User.signedOut || state.user == User.optedOut) {
      // It was not open then.
      if (told != null) tell(view)
    } else if (phase == "optedOut") {
      // The page has learned of it without the app. If the app owns a set, the service is asked whether it still accepts it.
      change(State(gen, User.optedOut, state.set.takeIf { owner == Owner.APP }))
    } else if (told != null) {
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      if (owner == Owner.PAGE || isWithoutSet) change(State(gen, User.signedIn, state.set, told))
    } else if (phase == "empty" && owner == Owner.PAGE && state.set != null && !page.isHandedBack) {
      // The page has lost its storage. The set that the app signed in with may still be refreshed.
      page.isHandedBack = true
      tell(view)
    }
  }

  /** Carry out `work`, and what follows from it. */
  private fun <T> enter(work: () -> T): T {
    val result = work()
    val set = state.set
    if (isActive && set != null && refreshDueAt() <= clock()) refreshing.start(set)
    notifyApp()
    schedule()
    return result
  }

  private fun notifyApp() {
    if (isClosed || storing.isWriting) return
    val isDue = isAskDue && owner == Owner.APP && storing.isKnown && (isWithoutSet || refreshing.isRefused)
    isAskDue = false
    val request = if (isDue) ++requests else 0
    val token = advertisingToken
    if (token != lastToken) {
      lastToken = token
      effects.token(token)
    }
    // The app may have answered otherwise in the meantime.
    if (request > answered) effects.needsTokens(request)
  }

  private fun schedule() {
    val isOpen = isActive && !isClosed
    val own = if (isOpen) minOf(refreshDueAt(), if (advertisingToken == null) NEVER else expiresAt) else NEVER
    val next = minOf(storing.nextAt(isOpen), refreshing.nextAt(), own)
    effects.wakeIn(if (next == NEVER) null else maxOf(0, next - clock()))
  }

  /** The greater of the wall clock and the uptime since the start: it never runs back, and runs on during sleep. */
  private fun clock(): Long {
    val uptime = effects.uptime()
    clockMs = maxOf(effects.wall(), clockMs + uptime - uptimeMs)
    uptimeMs = uptime
    return clockMs
  }

  private fun refreshDueAt() =
    if (owner == Owner.APP && storing.isKnown && !isClosed) refreshing.dueAt(state.set, state.user == User.optedOut) else NEVER

  private fun told(): Told? =
    if (state.user == User.optedOut) null else state.set?.told.takeIf { owner == Owner.APP } ?: state.told

  /** A user is signed in, and the app has no set of that user. */
  private val isWithoutSet: Boolean
    get() = state.user == User.signedIn && state.set == null

  /** A `get` has no answer until there is one that does not log the user out by mistake. Pages repeat it, and are told. */
  private val isWaiting: Boolean
    get() = !storing.isKnown || isWithoutSet || (refreshing.isRunning && advertisingToken == null)

  private fun known(stored: State) {
    // What a page has done meanwhile comes after what was stored.
    val meanwhile = state.takeIf { it.gen > 0 }
    state = if (meanwhile == null) stored else State(stored.gen + meanwhile.gen, meanwhile.user, null, meanwhile.told)
    if (meanwhile != null) storing.save()
    isAskDue = true
    val isTold = if (owner == Owner.APP) !isWaiting else meanwhile != null && meanwhile.told == null
    for ((view, page) in pages.toMap()) {
      if (!page.hasGreeted) continue
      greet(view)
      if (isTold) tell(view)
    }
  }

  private fun adopt(answer: Answer, gen: Long): Int =
    change(State(gen, answer.user, answer.set, answer.set?.told)).also { tellAll() }

  private fun change(next: State): Int {
    val former = state
    state = next
    // At one `gen`, two pages may have signed in two users.
    val isSame = next.gen == former.gen && next.user == former.user && next.told?.token == former.told?.token
    if (!isSame || next.set?.wire != former.set?.wire) {
      answered = requests
      refreshing.reset()
      isAskDue = true
    }
    return storing.save()
  }

  // Messages

  /** The body of a `set`; null if nobody is signed in. */
  private fun answer(): Map<String, Any>? = if (state.user == User.optedOut) mapOf("status" to "optout") else state.set?.wire

  private fun tell(view: Int) {
    val body = answer()
    send(view, "kind" to "evt", "type" to if (body == null) "clear" else "set", "body" to body)
  }

  private fun tellAll(except: Int? = null) {
    for (view in pages.keys.toList()) if (view != except) tell(view)
  }

  /** Tell a page how many sign-ins and logouts there were: it counts its next one from there. */
  private fun greet(view: Int) =
    send(view, "kind" to "req", "type" to "hello", "id" to "host-${state.gen}", "body" to null)

  private fun respond(view: Int, request: Map<String, Any?>, body: Any?, error: String? = null) {
    val members = arrayOf("kind" to "res", "type" to request["type"], "id" to request["id"], "body" to body)
    if (error == null) send(view, *members) else send(view, *members, "error" to error)
  }

  private fun send(view: Int, vararg members: Pair<String, Any?>) {
    val message = mapOf("v" to 1, "ns" to "tessera", "gen" to state.gen, *members)
    effects.log("app: ${message["kind"]} ${"${message["type"]}".take(20)}, gen ${state.gen}")
    effects.send(view, Json.write(message))
  }
}
