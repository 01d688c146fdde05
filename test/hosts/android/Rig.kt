/**
 * An app with a TesseraHost, for tests: commands arrive on stdin, and what the app does is printed, one JSON object a line. What
 * Android does between app and page, the test does, with a page in Chromium.
 */
package rig

import android.net.Uri
import android.os.Handler
import android.webkit.WebView
import androidx.webkit.JavaScriptReplyProxy
import androidx.webkit.WebMessageCompat
import androidx.webkit.WebViewCompat
import id.tessera.host.Owner
import id.tessera.host.TesseraHost
import id.tessera.host.TesseraListener
import id.tessera.host.TesseraStorage
import org.json.JSONObject

private fun say(vararg members: Pair<String, Any?>) {
  val line = JSONObject()
  for ((name, value) in members) line.put(name, value ?: JSONObject.NULL)
  println(line)
}

/** The app's storage outlives its process. */
private var stored: String? = null

private object Storage : TesseraStorage {
  override fun read() = stored

  override fun write(text: String) {
    stored = text
  }
}

private object Listener : TesseraListener {
  override fun onToken(advertisingToken: String?) = say("event" to "token", "value" to advertisingToken)

  override fun onNeedsTokens() = say("event" to "needsTokens")

  override fun onLog(line: String) = say("log" to line)
}

private lateinit var host: TesseraHost
private val views = mutableMapOf<String, WebView>()

private class Page(val name: String) : JavaScriptReplyProxy() {
  override fun postMessage(message: String) = say("page" to name, "text" to message)
}

private fun carryOut(command: JSONObject): Any? {
  val text = command.optString("text")
  when (command.getString("do")) {
    // The app starts, with what its storage contains.
    "start" -> {
      Handler.clear()
      views.clear()
      host = TesseraHost(
        baseUrl = command.getString("baseUrl"),
        origins = setOf(command.getString("origin")),
        storage = Storage,
        listener = Listener,
        owner = Owner.valueOf(command.getString("owner")),
        clock = Handler::now,
      )
    }
    "open" -> host.attach(views.getOrPut(text) { WebView(text) })
    "message" -> {
      val view = views.getValue(command.getString("view"))
      val added = WebViewCompat.added.getValue(view)
      val origin = command.getString("origin")
      val page = Page(command.getString("page"))
      if (origin in added.origins)
        added.listener.onPostMessage(view, WebMessageCompat(text), Uri(origin), command.getBoolean("isMainFrame"), page)
    }
    "signedIn" -> host.signedIn(text)
    "renewed" -> host.renewed(text)
    "signedOut" -> host.signedOut()
    "pause" -> host.pause()
    "resume" -> host.resume()
    "ahead" -> Handler.ahead = command.getLong("ms")
    "store" -> stored = if (command.isNull("text")) null else text
    "stored" -> return stored
    "token" -> return host.advertisingToken
    else -> throw IllegalArgumentException("unknown command")
  }
  return null
}

fun main() {
  Thread {
    for (line in generateSequence(::readlnOrNull)) {
      Handler.enqueue {
        val command = JSONObject(line)
        try {
          say("done" to command.getInt("number"), "value" to carryOut(command))
        } catch (error: Exception) {
          say("done" to command.getInt("number"), "error" to error.message)
        }
      }
    }
    System.exit(0)
  }.start()
  Handler.loop()
}
