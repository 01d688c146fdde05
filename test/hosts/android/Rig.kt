/**
 * An app with a TesseraHost, for tests: commands arrive on stdin, and what the app does is printed, one JSON object a line. What
 * Android does between app and page, the test does, with a page in Chromium.
 */
package id.tessera.host

import android.content.Context
import android.net.Uri
import android.os.Handler
import android.os.UserManager
import android.security.keystore.AndroidKeyStore
import android.util.AtomicFile
import android.webkit.WebView
import androidx.webkit.JavaScriptReplyProxy
import androidx.webkit.WebMessageCompat
import androidx.webkit.WebViewCompat
import com.sun.management.ThreadMXBean
import java.io.File
import java.io.IOException
import java.lang.management.ManagementFactory
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

private fun say(vararg members: Pair<String, Any?>) = println(Json.write(mapOf(*members)))

/** The app's storage outlives its process. */
private class Storage(override val key: Any) : TesseraStorage {
  override fun read(): String? = if (mode == "read") throw IOException("locked") else stored

  override fun write(text: String) {
    if (mode == "write") throw IOException("full")
    if (mode == "hang") hung.await()
    stored = text
  }

  companion object {
    @Volatile var stored: String? = null

    /** What fails: `read`, `write`, or `hang` for a write that ends when the mode is another. */
    @Volatile var mode = ""
      set(value) {
        field = value
        hung.countDown()
        hung = CountDownLatch(1)
      }

    @Volatile private var hung = CountDownLatch(1)
  }
}

private object Listener : TesseraListener {
  @Volatile var fails = false

  /** The token of the host in the last call of [onToken]. */
  var shown: String? = null
  val requests = mutableListOf<TokenRequest>()

  override fun onToken(advertisingToken: String?) {
    shown = host?.advertisingToken
    say("event" to "token", "value" to advertisingToken)
    check(!fails) { "the app's own" }
  }

  override fun onNeedsTokens(request: TokenRequest) {
    requests.add(request)
    say("event" to "needsTokens")
  }

  override fun onLog(line: String) {
    say("log" to line)
    check(!fails) { "the app's own" }
  }
}

private var host: TesseraHost? = null
private val views = mutableMapOf<String, WebView>()

private class Page(val name: String) : JavaScriptReplyProxy() {
  override fun postMessage(message: String) = say("page" to name, "text" to message)
}

private fun start(command: Map<String, Any?>) {
  Handler.clear()
  // Another process has other webviews.
  if (command["key"] == null) views.clear()
  Listener.requests.clear()
  host = TesseraHost(
    baseUrl = command["baseUrl"] as String,
    origins = setOf(command["origin"] as String),
    // Another process has another one.
    storage = Storage(command["key"] ?: Any()),
    listener = Listener,
    main = AndroidMainThread(),
    owner = Owner.valueOf(command["owner"] as String),
    wall = Handler::now,
    uptime = Handler::now,
  )
}

private fun receive(command: Map<String, Any?>) {
  val view = views.getValue(command["view"] as String)
  val added = WebViewCompat.added[view] ?: return
  val origin = command["origin"] as String
  val page = Page(command["page"] as String)
  val message = WebMessageCompat(command["text"] as String)
  if (origin in added.origins) added.listener.onPostMessage(view, message, Uri(origin), command["isMainFrame"] as Boolean, page)
}

/** Sign in and out on four threads at once; the last call of all is a logout. */
private fun callFromThreads(answer: String, callback: TesseraCallback) {
  val threads = List(4) {
    thread {
      repeat(50) {
        host!!.signedIn(answer) {}
        host!!.advertisingToken
        host!!.signedOut {}
        host!!.resume()
      }
    }
  }
  thread {
    threads.forEach(Thread::join)
    host!!.signedOut(callback)
  }
}

/** @param how  `suspend`: as Kotlin does; otherwise as Java does. */
private fun close(how: String?, callback: TesseraCallback) {
  if (how != "suspend") return host!!.close(callback)
  val close: suspend () -> Unit = { host!!.close() }
  close.startCoroutine(Continuation(EmptyCoroutineContext) { callback.done(it.exceptionOrNull() as Exception?) })
}

/** A `KeystoreStorage` in a folder: `install` an empty Keystore, `fault`, `invalidate`, `unlocked`, or use it. */
private fun keystore(command: Map<String, Any?>): Any? {
  val storage = KeystoreStorage(Context(File(command["folder"] as String)))
  val text = command["text"] as String?
  when (command["to"]) {
    "install" -> AndroidKeyStore.install()
    "fault" -> AndroidKeyStore.fault = text!!
    "invalidate" -> AndroidKeyStore.invalidate()
    "unlocked" -> UserManager.isUnlocked = text == "yes"
    "write" -> storage.write(text!!)
    "write twice" -> writeTwice(storage)
    else -> return storage.read()
  }
  return null
}

/** Write `late`, and, when its file is open, `later`. */
private fun writeTwice(storage: TesseraStorage) {
  val hold = AtomicFile.Hold()
  AtomicFile.hold = hold
  val late = thread { storage.write("late") }
  hold.awaitStart()
  val later = thread { storage.write("later") }
  while (later.state != Thread.State.BLOCKED && later.isAlive) Thread.onSpinWait()
  hold.end()
  late.join()
  later.join()
}

/** Java has no default arguments. */
private fun callAsJava() {
  val settings = arrayOf(String::class.java, Set::class.java, TesseraStorage::class.java, TesseraListener::class.java, MainThread::class.java)
  TesseraHost::class.java.getConstructor(*settings)
  TesseraHost::class.java.getConstructor(*settings, Owner::class.java)
  KeystoreStorage::class.java.getConstructor(Context::class.java)
  Class.forName("id.tessera.host.WebViewsKt").getMethod("attach", TesseraHost::class.java, WebView::class.java)
}

/** How many bytes are allocated to parse a text. */
private fun bytesToParse(text: String): Long {
  val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean
  val id = Thread.currentThread().id
  val before = threads.getThreadAllocatedBytes(id)
  checkNotNull(Json.parse(text))
  return threads.getThreadAllocatedBytes(id) - before
}

private fun carryOut(command: Map<String, Any?>, callback: TesseraCallback): Any? {
  val text = command["text"] as String?
  when (command["do"]) {
    "start" -> start(command)
    "open" -> host!!.attach(views.getOrPut(text!!) { WebView(text) })
    "detach" -> host!!.detach(views.getValue(text!!))
    "message" -> receive(command)
    "signedIn" -> host!!.signedIn(text!!, callback)
    "renew" -> Listener.requests[(command["request"] as? Long ?: 0L).toInt()].renew(text, callback)
    "signedOut" -> host!!.signedOut(callback)
    "threads" -> callFromThreads(text!!, callback)
    "pause" -> host!!.pause()
    "resume" -> host!!.resume()
    "close" -> close(text, callback)
    "closeAfter" -> {
      thread { host!!.signedOut(callback) }.join()
      host!!.close {}
    }
    "ahead" -> Handler.ahead = command["ms"] as Long
    "store" -> Storage.stored = text
    "storage" -> Storage.mode = text!!
    "fail" -> Listener.fails = text == "yes"
    "stored" -> return Storage.stored
    "token" -> return host!!.advertisingToken
    "shown" -> return Listener.shown
    "parse" -> return bytesToParse(text!!)
    "keystore" -> return keystore(command)
    "java" -> callAsJava()
    "timers" -> return Handler.timerCount()
    else -> throw IllegalArgumentException("unknown command")
  }
  return null
}

/** The commands that end when the change is stored. */
private val CHANGES = setOf("signedIn", "renew", "signedOut", "threads", "close", "closeAfter")

fun main() {
  thread {
    for (line in generateSequence(::readlnOrNull)) {
      Handler.enqueue {
        val command = Json.parse(line)!!
        val number = command["number"]
        val end = { value: Any?, error: Exception? ->
          if (error == null) say("done" to number, "value" to value) else say("done" to number, "error" to "${error.message}")
        }
        try {
          val value = carryOut(command) { end(null, it) }
          if (command["do"] !in CHANGES) end(value, null)
        } catch (error: Exception) {
          end(null, error)
        }
      }
    }
    System.exit(0)
  }
  Handler.loop()
}
