/**
 * The app's side of `tessera-id/webview`, without Android: the storage, the network, the app's functions, and any thread that calls.
 * `Machine.kt` has the rules; `WebViews.kt` connects webviews and the main thread.
 */
package id.tessera.host

import java.io.IOException
import java.util.WeakHashMap
import kotlin.concurrent.thread
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.coroutines.suspendCoroutine

/** Who refreshes the identity. With [APP], the page has `owner: 'host'` and `refresh: 'off'`; with [PAGE], the defaults. */
enum class Owner { APP, PAGE }

/** Where the app keeps the identity, which contains secrets: `KeystoreStorage`. It is called on threads of its own. */
interface TesseraStorage {
  /** Two storages with equal keys are one. */
  val key: Any
    get() = this

  /** Return what was last written; null: nothing was. Throw if that cannot be told now. */
  fun read(): String?

  fun write(text: String)
}

/** What the app is told, on the main thread, when it is stored. An exception is reported to [onLog], and harms nothing. */
interface TesseraListener {
  /** There is another advertising token, or, if it is null, none any more. */
  fun onToken(advertisingToken: String?) {}

  /**
   * With [Owner.APP]. Called again at the next start of the app and at each [TesseraHost.resume] until the request is answered. Ask your
   * server on another thread.
   */
  fun onNeedsTokens(request: TokenRequest) {}

  /** A line for a debug log, on any thread. It contains no token and no key. */
  fun onLog(line: String) {}
}

/** For Java: called on the main thread when a change is stored, or with what has prevented it. */
fun interface TesseraCallback {
  fun done(error: Exception?)
}

/** The storage has refused a change, or has not confirmed it within 10 s. It is tried again at the next change, at `resume` and `pause`. */
class TesseraStorageException(message: String) : IOException(message)

/** The app has no set of the user who is signed in, or one that the service no longer accepts. */
class TokenRequest internal constructor(private val host: TesseraHost, private val number: Int) {
  /**
   * Answer with JSON that your server has received from the operator for the user who is signed in there; null logs out. After another
   * sign-in, a logout, an opt-out or another answer it changes nothing.
   */
  suspend fun renew(answer: String?) = awaited { renew(answer, it) }

  fun renew(answer: String?, callback: TesseraCallback) =
    host.change(callback, { host.machine.renew(number, it) }) { answer?.let(Answer::parse) ?: Answer.SIGNED_OUT }
}

/** The thread on which the host's state lives: on Android the main thread. */
interface MainThread {
  val isCurrent: Boolean

  fun post(work: Runnable)

  fun postDelayed(work: Runnable, ms: Long)

  fun remove(work: Runnable)
}

internal suspend fun awaited(start: (TesseraCallback) -> Unit): Unit = suspendCoroutine { continuation ->
  start { error -> if (error == null) continuation.resume(Unit) else continuation.resumeWithException(error) }
}

/**
 * Shares one identity with the pages in the app's webviews, and keeps it between starts of the app. Any thread may call.
 *
 * @param baseUrl  the operator, `https://operator.example`.
 * @param origins  the origins of your pages, `https://www.publisher.example`. Other pages do not see the bridge.
 * @param wall     epoch ms.
 * @param uptime   ms since any instant; nobody can set this clock.
 * @throws IllegalArgumentException for a wrong setting. IllegalStateException if another host has the storage: call its [close] before.
 */
class TesseraHost @JvmOverloads constructor(
  baseUrl: String,
  origins: Set<String>,
  private val storage: TesseraStorage,
  private val listener: TesseraListener,
  private val main: MainThread,
  owner: Owner = Owner.APP,
  allowInsecure: Boolean = false,
  private val wall: () -> Long = System::currentTimeMillis,
  private val uptime: () -> Long = { System.nanoTime() / 1_000_000 },
) {
  private class Waiting(val change: Int, val callback: TesseraCallback)

  /** `isValidUntil`: of the uptime; `expiresAt`: of the wall clock. */
  private class Shown(val token: String, val isValidUntil: Long, val expiresAt: Long)

  /** A view: how its page is reached, and how the bridge is removed from it. */
  internal class View(val number: Int, var send: ((String) -> Unit)? = null, var remove: (Any) -> Unit = {})

  private val url = parseBaseUrl(baseUrl, allowInsecure)
  internal val origins = parseOrigins(origins, allowInsecure)

  /** The host holds no view. Used on the main thread. */
  internal val views = WeakHashMap<Any, View>()
  private var viewCount = 0
  private val waiting = mutableListOf<Waiting>()
  private val closing = mutableListOf<TesseraCallback>()
  private var isReleased = false
  private val requests = HashMap<Int, RefreshRequest>()
  private val wake = Runnable { enter { machine.wake() } }
  @Volatile private var shown: Shown? = null
  internal val machine: Machine

  init {
    synchronized(taken) { check(taken.add(storage.key)) { "storage: another host has it; close that host first" } }
    machine = Machine(owner, Around())
    onMain { machine.start() }
  }

  /** The token for the app's own ads; null if there is none, if it has expired, and after a logout or an opt-out. */
  val advertisingToken: String?
    get() = shown?.takeIf { uptime() < it.isValidUntil && wall() < it.expiresAt }?.token

  /**
   * A user has signed in in the app. Returns when that is stored.
   *
   * @param answer  JSON that your server has received from the operator: a `generate` answer, its body, or `{"status":"optout"}`.
   * @throws IllegalArgumentException if it is anything else: nothing has changed. [TesseraStorageException]
   */
  suspend fun signedIn(answer: String) = awaited { signedIn(answer, it) }

  fun signedIn(answer: String, callback: TesseraCallback) = change(callback) { Answer.parse(answer) }

  /** The user has signed out in the app. Returns when that is stored. */
  suspend fun signedOut() = awaited(::signedOut)

  fun signedOut(callback: TesseraCallback) = change(callback) { Answer.SIGNED_OUT }

  /** The user has opted out. Returns when that is stored. */
  suspend fun optedOut() = awaited(::optedOut)

  fun optedOut(callback: TesseraCallback) = change(callback) { Answer.OPTED_OUT }

  /** The app is in the foreground (`onStart`), or the network is back. What is due starts now. */
  fun resume() = onMain { machine.resume() }

  /** The app is in the background (`onStop`): no refresh starts until [resume]. */
  fun pause() = onMain { machine.pause() }

  /** End timers, requests and messages. Returns when every write has ended, however late: then another host may have the storage. */
  suspend fun close() = awaited(::close)

  fun close(callback: TesseraCallback) = onMain {
    closing.add(callback)
    machine.close()
    for (view in views.keys.toList()) remove(view)
    if (isReleased) closed()
  }

  private fun closed() {
    isReleased = true
    for (one in closing) main.post { attempt("callback") { one.done(null) } }
    closing.clear()
  }

  /** Remove the bridge from a view; returns its number. */
  internal fun remove(view: Any): Int? {
    val attached = views.remove(view) ?: return null
    attempt("detach") { attached.remove(view) }
    return attached.number
  }

  /** Parse on the caller's thread, and change on the main thread. */
  internal fun change(callback: TesseraCallback, start: (Answer) -> Int = machine::changed, parse: () -> Answer) {
    val answer = try {
      parse()
    } catch (error: RuntimeException) {
      return onMain { attempt("callback") { callback.done(error) } }
    }
    onMain {
      // `close` may have been called while this call was on its way.
      val isClosed = machine.isClosed
      val number = if (isClosed) 0 else start(answer)
      val error = if (isClosed) IllegalStateException("the host is closed") else null
      if (number == 0) attempt("callback") { callback.done(error) } else waiting.add(Waiting(number, callback))
    }
  }

  internal fun viewOf(view: Any): View = views.getOrPut(view) { View(++viewCount) }

  internal fun onMain(work: () -> Unit) {
    if (main.isCurrent) enter(work) else main.post { enter(work) }
  }

  private fun enter(work: () -> Unit) {
    work()
    show()
  }

  private fun show() {
    val token = machine.advertisingToken
    shown = token?.let { Shown(it, uptime() + machine.remainingMs, machine.expiresAt) }
  }

  internal fun <T> attempt(what: String, work: () -> T): T? =
    try {
      work()
    } catch (error: Throwable) {
      log("$what: ${error.javaClass.simpleName}")
      null
    }

  private fun log(line: String) {
    try {
      listener.onLog(line)
    } catch (_: Throwable) {
      // a log harms nothing
    }
  }

  private inner class Around : Effects {
    override fun wall() = this@TesseraHost.wall()

    override fun uptime() = this@TesseraHost.uptime()

    override fun wakeIn(ms: Long?) {
      main.remove(wake)
      if (ms != null) main.postDelayed(wake, ms)
    }

    /** A storage that hangs holds only its own thread. */
    private fun <T> onThread(work: () -> T, done: (T?, String?) -> Unit) {
      thread(isDaemon = true, name = "tessera") {
        val result = runCatching(work)
        main.post { enter { done(result.getOrNull(), result.exceptionOrNull()?.javaClass?.simpleName) } }
      }
    }

    override fun read() = onThread(storage::read) { text, error -> machine.readEnded(text, error) }

    override fun write(id: Int, text: String) = onThread({ storage.write(text) }) { _, error -> machine.writeEnded(id, error) }

    override fun refresh(id: Int, set: TokenSet) {
      val request = RefreshRequest(url, set)
      requests[id] = request
      request.start { outcome ->
        main.post {
          requests.remove(id)
          enter { machine.refreshEnded(id, outcome) }
        }
      }
    }

    override fun cancel(id: Int) {
      requests.remove(id)?.cancel()
    }

    override fun send(view: Int, text: String) {
      val send = views.values.find { it.number == view }?.send
      if (send == null) machine.left(view) else attempt("page") { send(text) } // it may be gone
    }

    override fun settled(change: Int, error: String?) {
      val ended = waiting.filter { it.change <= change }
      waiting.removeAll(ended)
      val failure = error?.let { TesseraStorageException("the storage has not confirmed the change: $it") }
      // When the machine has finished.
      for (one in ended) main.post { attempt("callback") { one.callback.done(failure) } }
    }

    override fun released() {
      synchronized(taken) { taken.remove(storage.key) }
      closed()
    }

    override fun token(advertisingToken: String?) {
      show()
      attempt("onToken") { listener.onToken(advertisingToken) }
    }

    override fun needsTokens(request: Int) {
      show()
      attempt("onNeedsTokens") { listener.onNeedsTokens(TokenRequest(this@TesseraHost, request)) }
    }

    override fun log(line: String) = this@TesseraHost.log(line)
  }

  internal companion object {
    /** The storages that hosts of this process have. */
    private val taken = HashSet<Any>()
    private val PARTS = Regex("([a-z][a-z\\d+.-]*)://([a-z\\d._-]+|\\[[\\da-f:.]+])(?::(\\d{1,5}))?(/[^?#\\s\\\\]*)?", RegexOption.IGNORE_CASE)
    private val LOCAL = Regex("localhost|.+\\.localhost|127\\.[\\d.]+|\\[::1]")

    /** Schemes whose pages have no origin of their own. */
    private val WITHOUT_ORIGIN = setOf("file", "data", "blob", "javascript", "about")

    /** The origin of an address as a browser writes it, and the path; null if it is none that is permitted. */
    private fun partsOf(address: String, allowInsecure: Boolean): Pair<String, String>? {
      val (scheme, host, port, path) = PARTS.matchEntire(address.trim())?.destructured ?: return null
      val (protocol, name, number) = Triple(scheme.lowercase(), host.lowercase(), port.ifEmpty { "0" }.toInt())
      if (number > 65_535 || (protocol == "http" && !allowInsecure && !LOCAL.matches(name))) return null
      val isDefault = number == 0 || number == mapOf("https" to 443, "http" to 80)[protocol]
      return "$protocol://$name${if (isDefault) "" else ":$number"}" to path
    }

    fun parseBaseUrl(address: String, allowInsecure: Boolean): String {
      val (origin, path) = partsOf(address, allowInsecure)?.takeIf { it.first.startsWith("http") }
        ?: throw IllegalArgumentException("baseUrl: expected an absolute https URL (http: for localhost, or with allowInsecure)")
      return (origin + path).trimEnd('/')
    }

    fun parseOrigins(addresses: Set<String>, allowInsecure: Boolean): Set<String> {
      require(addresses.isNotEmpty()) { "origins: expected at least one origin" }
      return addresses.map { address ->
        val parts = partsOf(address, allowInsecure)
        require(parts != null && parts.second.length <= 1 && parts.first.substringBefore(':') !in WITHOUT_ORIGIN) {
          "origins: expected an origin such as https://www.publisher.example, got \"$address\""
        }
        parts.first
      }.toSet()
    }
  }
}
