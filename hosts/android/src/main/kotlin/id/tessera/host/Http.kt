/** One request for a newer set, on a thread of its own. The machine ends it after 60 s, and reads nothing that arrives later. */
package id.tessera.host

import java.io.ByteArrayOutputStream
import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import javax.crypto.Cipher
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec
import kotlin.concurrent.thread

internal class RefreshRequest(private val baseUrl: String, private val set: TokenSet) {
  @Volatile private var connection: HttpURLConnection? = null
  @Volatile private var isCancelled = false

  /** @param done  is called on the thread of the request. */
  fun start(done: (Outcome) -> Unit) {
    thread(isDaemon = true, name = "tessera") { done(outcome()) }
  }

  /** Closes the connection: a read or write that waits ends. */
  fun cancel() {
    isCancelled = true
    connection?.let { thread(isDaemon = true, name = "tessera") { it.disconnect() } }
  }

  private fun outcome(): Outcome =
    try {
      val open = URL("$baseUrl/v2/token/refresh").openConnection() as HttpURLConnection
      connection = open
      if (isCancelled) throw IOException("cancelled")
      request(open)
    } catch (error: Exception) {
      Outcome(Kind.FAILED, error.javaClass.simpleName)
    } finally {
      connection?.disconnect()
    }

  private fun request(open: HttpURLConnection): Outcome {
    open.requestMethod = "POST"
    // A redirect would send the refresh token to another server.
    open.instanceFollowRedirects = false
    open.connectTimeout = TIMEOUT_MS
    open.readTimeout = TIMEOUT_MS
    open.useCaches = false
    open.doOutput = true
    open.setRequestProperty("Content-Type", "text/plain")
    open.outputStream.use { it.write(set.refreshToken.toByteArray()) }
    val status = open.responseCode
    val text = (if (status < 400) open.inputStream else open.errorStream)?.use(::read).orEmpty()
    val retryAfterMs = (open.getHeaderField("Retry-After")?.trim()?.toIntOrNull() ?: 0) * 1_000L
    val (kind, answer) = if (status == 200) opened(text) else refusal(status, text) to null
    return Outcome(kind, "HTTP $status", answer, open.date, retryAfterMs)
  }

  /** An answer that does not open is not better at once. */
  private fun opened(text: String): Pair<Kind, TokenSet?> =
    try {
      // AES-256-GCM: iv[12], ciphertext, tag[16].
      val sealed = decodeBase64(text)
      val cipher = Cipher.getInstance("AES/GCM/NoPadding")
      cipher.init(Cipher.DECRYPT_MODE, SecretKeySpec(set.responseKey, "AES"), GCMParameterSpec(128, sealed, 0, 12))
      Answer.parse(String(cipher.doFinal(sealed, 12, sealed.size - 12))).set.let { (if (it == null) Kind.OPTOUT else Kind.SUCCESS) to it }
    } catch (_: Exception) {
      Kind.REFUSED to null
    }

  private fun refusal(status: Int, text: String): Kind =
    if (status in 300..499 && Json.parse(text)?.get("status") in ENDED) Kind.ENDED
    else if (status in 400..499 && status !in PASSING) Kind.REFUSED
    else Kind.FAILED

  private fun read(stream: InputStream): String {
    val bytes = ByteArrayOutputStream()
    val buffer = ByteArray(4_096)
    while (true) {
      val count = stream.read(buffer)
      if (count < 0) return bytes.toString("UTF-8")
      bytes.write(buffer, 0, count)
      if (bytes.size() > MAX_BYTES || isCancelled) throw IOException("too long")
    }
  }

  private companion object {
    const val TIMEOUT_MS = 60_000
    const val MAX_BYTES = 65_536
    val ENDED = setOf("expired_token", "invalid_token")

    /** Statuses of HTTP that may be another when the request is repeated. */
    val PASSING = setOf(408, 425, 429)
  }
}
