/** The part that needs Android: webviews and the main thread. It needs API 23 and androidx.webkit 1.4. */
package id.tessera.host

import android.net.Uri
import android.os.Handler
import android.os.Looper
import android.webkit.WebView
import androidx.webkit.JavaScriptReplyProxy
import androidx.webkit.WebMessageCompat
import androidx.webkit.WebViewCompat
import androidx.webkit.WebViewFeature

/** Android's main thread. */
class AndroidMainThread : MainThread {
  private val handler = Handler(Looper.getMainLooper())

  override val isCurrent: Boolean
    get() = Looper.myLooper() == Looper.getMainLooper()

  override fun post(work: Runnable) {
    handler.post(work)
  }

  override fun postDelayed(work: Runnable, ms: Long) {
    handler.postDelayed(work, ms)
  }

  override fun remove(work: Runnable) = handler.removeCallbacks(work)
}

/**
 * Add the bridge to a webview, before `loadUrl`. Twice is harmless.
 *
 * @param channel  the option `channel` of the page.
 * @return false if the device's WebView is too old for it. Pages then work on their own.
 */
@JvmOverloads
fun TesseraHost.attach(webView: WebView, channel: String = "tesseraHost"): Boolean {
  if (!WebViewFeature.isFeatureSupported(WebViewFeature.WEB_MESSAGE_LISTENER)) return false
  onMain {
    if (webView in views) return@onMain
    val attached = viewOf(webView)
    attached.remove = { WebViewCompat.removeWebMessageListener(it as WebView, channel) }
    WebViewCompat.addWebMessageListener(webView, channel, origins) {
        _: WebView, message: WebMessageCompat, _: Uri, isMainFrame: Boolean, page: JavaScriptReplyProxy ->
      // Reading data that is not a string throws.
      val text = if (isMainFrame) attempt("message") { message.data } else null
      if (text != null) onMain {
        attached.send = { page.postMessage(it) }
        machine.received(attached.number, text)
      }
    }
  }
  return true
}

/** Remove the bridge, before the webview is destroyed. */
fun TesseraHost.detach(webView: WebView) = onMain { remove(webView)?.let(machine::left) }
