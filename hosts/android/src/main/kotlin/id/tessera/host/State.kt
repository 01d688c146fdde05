/** What a host stores, and what its machine has done around it. */
package id.tessera.host

import kotlin.io.encoding.Base64

internal class Told(val token: String, val expiresAt: Long)

/** Beyond the year 9999, epoch ms. */
private const val LATEST = 1_000_000_000_000_000L

/** The body of a `generate` or `refresh` answer. The constructor throws if a member is missing or of another kind. */
internal class TokenSet(given: Map<*, *>) {
  val wire: Map<String, Any> = NAMES.associateWith { given[it] ?: throw IllegalArgumentException("a member is missing") }
  val refreshToken = text("refresh_token")
  val refreshFrom = time("refresh_from")
  val told = Told(text("advertising_token"), time("identity_expires"))
  val responseKey: ByteArray = decodeBase64(text("refresh_response_key"))

  init {
    require(responseKey.size == 32 && refreshFrom in EARLIEST..told.expiresAt && time("refresh_expires") in told.expiresAt..LATEST)
  }

  private fun text(name: String) = (wire[name] as? String).orEmpty().also { require(it.isNotEmpty()) }

  private fun time(name: String): Long = requireNotNull(wire[name] as? Long)

  companion object {
    /** 1973; a time in seconds is before it. */
    private const val EARLIEST = 100_000_000_000L
    private val NAMES =
      listOf("advertising_token", "refresh_token", "refresh_response_key", "refresh_from", "identity_expires", "refresh_expires")
  }
}

internal enum class User { unknown, signedIn, signedOut, optedOut }

/** What an answer says about a user. */
internal class Answer(val user: User, val set: TokenSet? = null) {
  companion object {
    val SIGNED_OUT = Answer(User.signedOut)
    val OPTED_OUT = Answer(User.optedOut)

    /** The error never quotes the input. */
    fun parse(text: String): Answer {
      val answer = Json.parse(text)
      val status = answer?.get("status")
      if (status == "optout") return OPTED_OUT
      try {
        return Answer(User.signedIn, TokenSet((if (status == "success") answer["body"] else answer.takeIf { status == null }) as Map<*, *>))
      } catch (_: RuntimeException) {
        throw IllegalArgumentException("answer: expected the JSON of a generate answer, its body or an opt-out")
      }
    }
  }
}

/** Not `java.util.Base64`, which Android has from API 26. Line ends and a missing `=` do no harm. */
internal fun decodeBase64(text: String): ByteArray =
  Base64.withPadding(Base64.PaddingOption.PRESENT_OPTIONAL).decode(text.filterNot { it in "\r\n" })

/**
 * @param gen   the number of sign-ins and logouts.
 * @param set   what the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse.
 * @param told  the last token that the app or a page has had.
 */
internal class State(val gen: Long = 0, val user: User = User.unknown, val set: TokenSet? = null, val told: Told? = null) {
  override fun toString(): String {
    val last = told?.let { mapOf("token" to it.token, "expiresAt" to it.expiresAt) }
    return Json.write(mapOf("gen" to gen, "user" to user.name, "set" to set?.wire, "told" to last).filterValues { it != null })
  }

  companion object {
    /** Read what [toString] has written. Anything else is no state. */
    fun parse(text: String?): State =
      try {
        val stored = Json.parse(text ?: "").orEmpty()
        val told = stored["told"] as Map<*, *>?
        State(
          requireNotNull(genOf(stored["gen"])),
          User.valueOf(stored["user"] as String),
          (stored["set"] as Map<*, *>?)?.let(::TokenSet),
          told?.let { requireNotNull(toldOf(it["token"], it["expiresAt"])) },
        )
      } catch (_: RuntimeException) {
        State()
      }

    fun genOf(value: Any?): Long? = (value as? Long)?.takeIf { it in 0..9_007_199_254_740_991 }

    /** Null if it is nonsense: an instant beyond the year 9999 is no expiry. */
    fun toldOf(token: Any?, expiresAt: Any?): Told? =
      if (token is String && token.isNotEmpty() && expiresAt is Number && expiresAt.toLong() in -LATEST..LATEST) Told(token, expiresAt.toLong())
      else null
  }
}

/** How a refresh has ended. `ENDED`: the service has ended the set. `REFUSED`: it has not understood. `FAILED`: it may answer later. */
internal enum class Kind { SUCCESS, OPTOUT, ENDED, REFUSED, FAILED }

/** @param date  the service's clock, epoch ms; 0 if it is unknown. */
internal class Outcome(val kind: Kind, val why: String, val set: TokenSet? = null, val date: Long = 0, val retryAfterMs: Long = 0)

/** What the machine has done around it. The results arrive in its methods, with the number that was passed here. */
internal interface Effects {
  /** Epoch ms. */
  fun wall(): Long

  /** Ms since any instant; nobody can set this clock. */
  fun uptime(): Long

  /** Replace the timer that calls `wake`; null: none. */
  fun wakeIn(ms: Long?)
  fun read()
  fun write(id: Int, text: String)
  fun refresh(id: Int, set: TokenSet)
  fun cancel(id: Int)
  fun send(view: Int, text: String)

  /** All changes up to this number are stored, or, with an error, are not. */
  fun settled(change: Int, error: String?)

  /** The host is closed, and no write is running: another host may have the storage. */
  fun released()
  fun token(advertisingToken: String?)
  fun needsTokens(request: Int)
  fun log(line: String)
}
