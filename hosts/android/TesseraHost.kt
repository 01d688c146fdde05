/*
 * The app's side of `tessera-id/webview`, for Android. Copy this file into your app.
 *
 * It needs API 21 and androidx.webkit 1.4. Call everything on the main thread; requests run on a thread of their own. The messages
 * are described in docs/webview.md. Tested on a JVM with a real page in Chromium and a real operator; not on a device.
 */
package id.tessera.host

import android.net.Uri
import android.os.Handler
import android.os.Looper
import android.util.Base64
import android.webkit.WebView
import androidx.webkit.JavaScriptReplyProxy
import androidx.webkit.WebMessageCompat
import androidx.webkit.WebViewCompat
import androidx.webkit.WebViewFeature
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.util.WeakHashMap
import java.util.concurrent.Executors
import javax.crypto.Cipher
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec
import org.json.JSONObject

/** Who refreshes the identity. With [APP], the page has `owner: 'host'` and `refresh: 'off'`; with [PAGE], the defaults. */
enum class Owner { APP, PAGE }

/** Where the app keeps the identity. It contains secrets: encrypt it with a key of the Android Keystore, and leave it out of backups. */
interface TesseraStorage {
  /** Return what was last written, or null. */
  fun read(): String?

  fun write(text: String)
}

/** What the app is told, on the main thread. */
interface TesseraListener {
  /** There is another advertising token, or, if it is null, none any more. */
  fun onToken(advertisingToken: String?)

  /**
   * With [Owner.APP]: a user is signed in and there is no set, or the service no longer accepts it. Request one from your server for the
   * user who is signed in there, and pass it to [TesseraHost.renewed]; if nobody is, call [TesseraHost.signedOut]. Called again at the
   * next start of the app and at each [TesseraHost.resume] until you have done so. If another user has signed in meanwhile, drop the set.
   */
  fun onNeedsTokens()

  /** A line for a debug log: a message without its body, or a failure. It contains no token and no key. */
  fun onLog(line: String) {}
}

/**
 * Shares one identity with the pages in the app's webviews, and keeps it between starts of the app.
 *
 * @param baseUrl  the operator, `https://operator.example`.
 * @param origins  the origins of your pages, `https://www.publisher.example`. Other pages do not see the bridge.
 * @param channel  the option `channel` of the page.
 * @param clock    epoch ms.
 */
class TesseraHost(
  private val baseUrl: String,
  private val origins: Set<String>,
  private val storage: TesseraStorage,
  private val listener: TesseraListener,
  private val owner: Owner = Owner.APP,
  private val channel: String = "tesseraHost",
  private val clock: () -> Long = System::currentTimeMillis,
) {
  private val main = Handler(Looper.getMainLooper())
  private val requests = Executors.newSingleThreadExecutor { work -> Thread(work, "tessera").apply { isDaemon = true } }
  private val wake = Runnable { onWake() }

  /** The page of each webview that has sent a message. A later page of the same webview replaces it. */
  private val pages = WeakHashMap<WebView, JavaScriptReplyProxy>()

  /** The webviews whose page has been handed the set once more, because it had lost it. */
  private val restored = WeakHashMap<WebView, Boolean>()

  private var state = State.parse(attempt("storage") { storage.read() })
  private var lastToken: String? = null
  private var isActive = true
  private var isRefreshing = false

  /** The service has refused the set: only [onNeedsTokens][TesseraListener.onNeedsTokens] helps. */
  private var isRefused = false

  /** Refreshes in a row that have failed. */
  private var failures = 0

  /** No refresh starts before this instant of [now]. */
  private var notBefore = 0L

  /** The service has asked for the pause: [resume] does not end it. */
  private var isPauseAsked = false

  /** The service's clock minus this device's, ms; 0 within a minute. */
  private var offset = 0L

  init {
    lastToken = advertisingToken
    schedule()
    if (isWithoutSet) main.post { askForTokens() } // not yet: the listener may use the host
  }

  /** The token for the app's own ads; null if there is none, if it has expired, and after a logout or an opt-out. */
  val advertisingToken: String?
    get() = told?.takeIf { now() < it.expiresAt }?.token

  private val told: Told?
    get() = if (state.user == User.OPTED_OUT) null else state.set?.takeIf { owner == Owner.APP }?.told ?: state.told

  /**
   * Add the bridge to a webview, before `loadUrl`.
   *
   * @return false if the device's WebView is too old for it. Pages then work on their own.
   */
  fun attach(webView: WebView): Boolean {
    if (!WebViewFeature.isFeatureSupported(WebViewFeature.WEB_MESSAGE_LISTENER)) return false
    WebViewCompat.addWebMessageListener(webView, channel, origins) {
        view: WebView, message: WebMessageCompat, _: Uri, isMainFrame: Boolean, page: JavaScriptReplyProxy ->
      // Reading data that is not a string throws.
      if (isMainFrame) attempt("message") { JSONObject(message.data ?: "") }?.let { receive(view, page, it) }
    }
    return true
  }

  /**
   * A user has signed in in the app.
   *
   * @param answer  JSON that your server has received from the operator: a `generate` response, its body, or `{"status":"optout"}`.
   * @throws IllegalArgumentException if it is anything else. Then nothing has changed.
   */
  fun signedIn(answer: String) = adopt(parseAnswer(answer), state.gen + 1)

  /** As [signedIn], with a newer set of the same user, whom the app has not signed in again. After [signedOut] or an opt-out it changes nothing. */
  fun renewed(answer: String) {
    val set = parseAnswer(answer)
    // The answer has taken longer than the user.
    if (state.user == User.SIGNED_OUT || state.user == User.OPTED_OUT) listener.onLog("renewed: nobody is signed in") else adopt(set, state.gen)
  }

  /** The user has signed out in the app. */
  fun signedOut() {
    change(State(state.gen + 1, User.SIGNED_OUT))
    broadcast()
  }

  /** The app is in the foreground (`onStart`), or the network is back. A refresh that is due starts now. */
  fun resume() {
    isActive = true
    if (failures > 0 && !isPauseAsked) notBefore = 0
    askForTokens()
    onWake()
  }

  /** The app is in the background (`onStop`): no refresh starts until [resume]. */
  fun pause() {
    isActive = false
    main.removeCallbacks(wake)
  }

  // The bridge

  private fun receive(view: WebView, page: JavaScriptReplyProxy, message: JSONObject) {
    if (message.opt("ns") != "tessera") return
    val kind = message.optString("kind")
    val type = message.optString("type")
    val body = message.optJSONObject("body") ?: JSONObject()
    log("page", message, body.optString("phase"))
    pages[view] = page
    if (message.optInt("v") != 1) {
      if (kind == "req") answer(page, message, null, "version")
      return
    }
    if (type == "hello") restored.remove(view)
    if (type == "changed") pageChanged(view, page, message.optInt("gen"), body)
    if (kind != "req") return
    if (type == "get" && isWaiting) return
    answer(page, message, if (type == "get") state.answer else null, null)
  }

  private fun pageChanged(view: WebView, page: JavaScriptReplyProxy, gen: Int, body: JSONObject) {
    // A page that has not yet received what the app has done.
    if (gen < state.gen) return
    val phase = body.optString("phase")
    val told = (body.opt("advertisingToken") as? String)?.let { Told(it, body.optLong("expiresAt")) }
    if (gen > state.gen) {
      // The set belongs to the user before.
      change(State(gen, if (told != null) User.SIGNED_IN else if (phase == "optedOut") User.OPTED_OUT else User.SIGNED_OUT, null, told))
      if (told == null) broadcast(view) else askForTokens()
      return
    }
    // The app has signed the user out, and the page has not received it yet.
    if (state.user == User.SIGNED_OUT || state.user == User.OPTED_OUT) return
    val set = state.set
    when {
      // The page has learned of the opt-out without the app. If the app owns a set, the service is asked whether it still accepts it.
      phase == "optedOut" -> {
        notBefore = 0
        change(State(gen, User.OPTED_OUT, set?.takeIf { owner == Owner.APP }))
      }
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      told != null -> if (owner == Owner.PAGE || isWithoutSet) change(State(gen, User.SIGNED_IN, set, told))
      // The page owns the identity and has lost its storage. The set that the app signed in with may still be refreshed.
      phase == "empty" && owner == Owner.PAGE && set != null -> if (restored.put(view, true) == null) send(page, stateMessage())
    }
  }

  /** A user is signed in, and the app has no set of that user. */
  private val isWithoutSet: Boolean
    get() = state.user == User.SIGNED_IN && state.set == null

  /** There will be a set, or another one. A `get` has no answer until then: null would log the user out. Pages repeat it, and are told. */
  private val isWaiting: Boolean
    get() = isWithoutSet || isRefreshing && advertisingToken == null

  private fun askForTokens() {
    if (owner == Owner.APP && (isWithoutSet || isRefused)) listener.onNeedsTokens()
  }

  /** What the app knows: its set, an opt-out, or that nobody is signed in. */
  private fun stateMessage(): JSONObject {
    val body = state.answer
    return JSONObject().put("kind", "evt").put("type", if (body == null) "clear" else "set").put("body", body ?: JSONObject.NULL)
  }

  /** Tell all pages, except that of one webview. */
  private fun broadcast(except: WebView? = null) {
    for ((view, page) in pages.toMap()) if (view !== except) send(page, stateMessage())
  }

  private fun answer(page: JavaScriptReplyProxy, request: JSONObject, body: JSONObject?, error: String?) =
    send(
      page,
      JSONObject()
        .put("kind", "res")
        .put("type", request.optString("type"))
        .put("id", request.optString("id"))
        .put("body", body ?: JSONObject.NULL)
        .putOpt("error", error),
    )

  private fun send(page: JavaScriptReplyProxy, message: JSONObject) {
    message.put("v", 1).put("ns", "tessera").put("gen", state.gen)
    log("app", message, message.optString("error"))
    attempt("page") { page.postMessage(message.toString()) } // it may be gone
  }

  // The identity

  private fun adopt(answer: TokenSet?, gen: Int) {
    failures = 0
    notBefore = 0
    change(if (answer == null) State(maxOf(gen, state.gen + 1), User.OPTED_OUT) else State(gen, User.SIGNED_IN, answer, answer.told))
    broadcast()
  }

  private fun change(next: State) {
    if (next.set !== state.set) isRefused = false
    state = next
    attempt("storage") { storage.write(next.toString()) }
    notifyToken()
    schedule()
  }

  private fun notifyToken() {
    val token = advertisingToken
    if (token == lastToken) return
    lastToken = token
    listener.onToken(token)
  }

  private fun now() = clock() + offset

  // Refreshing

  /** When the next refresh starts; null if none will. */
  private fun refreshAt(): Long? {
    val set = state.set
    if (owner == Owner.PAGE || set == null || isRefreshing || isRefused) return null
    // If the clock was set back, the longest pause counts from now.
    return maxOf(if (state.user == User.OPTED_OUT) 0 else set.refreshFrom, minOf(notBefore, now() + DAY_MS))
  }

  /** Set the timer to the next refresh or the expiry of the token, whichever is first. */
  private fun schedule() {
    main.removeCallbacks(wake)
    val next = listOfNotNull(refreshAt(), told?.expiresAt?.takeIf { advertisingToken != null }).minOrNull()
    if (isActive && next != null) main.postDelayed(wake, maxOf(0, next - now()))
  }

  private fun onWake() {
    notifyToken()
    val at = refreshAt()
    if (at != null && at <= now()) startRefresh()
    schedule()
  }

  private fun startRefresh() {
    val set = state.set
    if (set == null || isRefreshing) return
    isRefreshing = true
    requests.execute {
      val outcome = try {
        refresh(set)
      } catch (error: Exception) {
        Outcome("failed: ${error.javaClass.simpleName}")
      }
      main.post {
        isRefreshing = false
        // A sign-in or a logout in the meantime: the outcome is too late.
        if (state.set === set) refreshed(outcome)
        schedule()
      }
    }
  }

  private fun refreshed(outcome: Outcome) {
    listener.onLog("refresh: ${outcome.name}")
    offset = if (outcome.date == 0L || Math.abs(outcome.date - clock()) < 60_000) 0 else outcome.date - clock()
    when (outcome.name) {
      "success", "optout" -> {
        adopt(outcome.set, state.gen)
        outcome.set?.let { notBefore = dueOnArrival(it) }
      }
      "invalid_token", "expired_token" -> {
        isRefused = true
        askForTokens()
      }
      else -> {
        val pause = minOf(FIRST_PAUSE_MS shl minOf(failures++, 10), MAX_PAUSE_MS)
        isPauseAsked = outcome.retryAfterMs > pause
        notBefore = now() + maxOf(pause, minOf(outcome.retryAfterMs, DAY_MS))
      }
    }
    // The token may have expired in the meantime.
    notifyToken()
  }

  /** A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody. */
  private fun dueOnArrival(set: TokenSet): Long {
    val expiresAt = set.told.expiresAt
    if (set.refreshFrom - now() > minOf(DUE_ON_ARRIVAL_MS, (expiresAt - set.refreshFrom) / 20)) return 0
    return maxOf((maxOf(set.refreshFrom, now()) + expiresAt) / 2, now() + MIN_PAUSE_MS)
  }

  /** Ask the service, on the thread for requests. */
  private fun refresh(set: TokenSet): Outcome {
    val connection = URL("${baseUrl.trimEnd('/')}/v2/token/refresh").openConnection() as HttpURLConnection
    try {
      connection.requestMethod = "POST"
      connection.instanceFollowRedirects = false
      connection.connectTimeout = TIMEOUT_MS
      connection.readTimeout = TIMEOUT_MS
      connection.useCaches = false
      connection.doOutput = true
      connection.setRequestProperty("Content-Type", "text/plain")
      connection.outputStream.use { it.write(set.refreshToken.toByteArray()) }
      val status = connection.responseCode
      val text = (if (status < 400) connection.inputStream else connection.errorStream)?.use(::readLimited) ?: ""
      val outcome = when (status) {
        200 -> JSONObject(String(decrypt(Base64.decode(text, Base64.DEFAULT), set.responseKey))).let { answer ->
          val parsed = parseAnswer(answer.toString())
          Outcome(if (parsed == null) "optout" else "success", parsed)
        }
        400 -> Outcome(JSONObject(text).optString("status").takeIf { it in ENDED } ?: "failed: HTTP 400")
        else -> Outcome("failed: HTTP $status")
      }
      outcome.date = connection.date
      outcome.retryAfterMs = (connection.getHeaderField("Retry-After")?.toLongOrNull() ?: 0) * 1_000
      return outcome
    } finally {
      connection.disconnect()
    }
  }

  private fun <T> attempt(what: String, work: () -> T): T? =
    try {
      work()
    } catch (error: Throwable) { // also a StackOverflowError, for JSON that is nested too deeply
      listener.onLog("$what: ${error.javaClass.simpleName}")
      null
    }

  private fun log(from: String, message: JSONObject, more: String) =
    listener.onLog("$from: ${message.optString("kind")} ${message.optString("type")}, gen ${message.optInt("gen")} $more".trim())

  private class Outcome(val name: String, val set: TokenSet? = null) {
    /** The service's clock, epoch ms; 0 if it is unknown. */
    var date = 0L
    var retryAfterMs = 0L
  }

  private companion object {
    const val TIMEOUT_MS = 10_000
    const val FIRST_PAUSE_MS = 5_000L
    const val MIN_PAUSE_MS = 30_000L
    const val DUE_ON_ARRIVAL_MS = 60_000L
    const val MAX_PAUSE_MS = 300_000L
    const val DAY_MS = 86_400_000L
    const val MAX_BYTES = 65_536
    val ENDED = setOf("invalid_token", "expired_token")

    fun readLimited(stream: java.io.InputStream): String {
      val bytes = ByteArrayOutputStream()
      val buffer = ByteArray(4_096)
      while (true) {
        val count = stream.read(buffer)
        if (count < 0) return bytes.toString("UTF-8")
        bytes.write(buffer, 0, count)
        if (bytes.size() > MAX_BYTES) throw IOException("the response is too long")
      }
    }

    /** AES-256-GCM: iv[12], ciphertext, tag[16]. */
    fun decrypt(sealed: ByteArray, key: ByteArray): ByteArray {
      val cipher = Cipher.getInstance("AES/GCM/NoPadding")
      cipher.init(Cipher.DECRYPT_MODE, SecretKeySpec(key, "AES"), GCMParameterSpec(128, sealed, 0, 12))
      return cipher.doFinal(sealed, 12, sealed.size - 12)
    }

    /** Null: the user has opted out. The error never quotes the input. */
    fun parseAnswer(text: String): TokenSet? =
      try {
        val answer = JSONObject(text)
        if (answer.opt("status") == "optout") null
        else if (answer.has("status") && answer.get("status") != "success") throw IOException("another status")
        else TokenSet(if (answer.has("status")) answer.getJSONObject("body") else answer)
      } catch (error: Exception) {
        throw IllegalArgumentException("answer: expected the JSON of a generate response, its body or an opt-out")
      }
  }
}

private enum class User { UNKNOWN, SIGNED_IN, SIGNED_OUT, OPTED_OUT }

/** An advertising token and its expiry, epoch ms. */
private class Told(val token: String, val expiresAt: Long)

/** The body of a `generate` or `refresh` response. The constructor throws if a member is missing or of another kind. */
private class TokenSet(val body: JSONObject) {
  val told = Told(text("advertising_token"), body.getLong("identity_expires"))
  val refreshToken = text("refresh_token")
  val refreshFrom = body.getLong("refresh_from")
  val refreshExpires = body.getLong("refresh_expires")
  val responseKey: ByteArray = Base64.decode(text("refresh_response_key"), Base64.DEFAULT)

  init {
    require(responseKey.size == 32 && refreshFrom in EARLIEST..told.expiresAt && told.expiresAt <= refreshExpires)
  }

  private fun text(name: String) = (body.get(name) as String).also { require(it.isNotEmpty()) }

  private companion object {
    /** 2001; a time in seconds is before it. */
    const val EARLIEST = 1_000_000_000_000L
  }
}

/**
 * What the app keeps.
 *
 * @param set   what the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse.
 * @param told  the last token of which the app knows.
 */
private class State(val gen: Int = 0, val user: User = User.UNKNOWN, val set: TokenSet? = null, val told: Told? = null) {
  /** The body of a `set`, or null if nobody is signed in. */
  val answer: JSONObject?
    get() = if (user == User.OPTED_OUT) JSONObject().put("status", "optout") else set?.body

  override fun toString(): String =
    JSONObject()
      .put("gen", gen)
      .put("user", user.name)
      .putOpt("set", set?.body)
      .putOpt("token", told?.token)
      .putOpt("expiresAt", told?.expiresAt)
      .toString()

  companion object {
    /** Read what [toString] has written. Anything else is no state. */
    fun parse(text: String?): State =
      try {
        val stored = JSONObject(text ?: "{}")
        val told = if (stored.has("token")) Told(stored.getString("token"), stored.getLong("expiresAt")) else null
        val user = User.valueOf(stored.optString("user", User.UNKNOWN.name))
        State(stored.optInt("gen"), user, stored.optJSONObject("set")?.let(::TokenSet), told)
      } catch (error: Exception) {
        State()
      }
  }
}
