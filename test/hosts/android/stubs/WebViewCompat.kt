/** `androidx.webkit`, whose pages are reached through the rig. */
package androidx.webkit

import android.net.Uri
import android.webkit.WebView

object WebViewFeature {
  const val WEB_MESSAGE_LISTENER = "WEB_MESSAGE_LISTENER"

  fun isFeatureSupported(name: String) = name == WEB_MESSAGE_LISTENER
}

class WebMessageCompat(val data: String?)

abstract class JavaScriptReplyProxy {
  abstract fun postMessage(message: String)
}

object WebViewCompat {
  fun interface WebMessageListener {
    fun onPostMessage(
      view: WebView,
      message: WebMessageCompat,
      sourceOrigin: Uri,
      isMainFrame: Boolean,
      replyProxy: JavaScriptReplyProxy,
    )
  }

  class Added(val name: String, val origins: Set<String>, val listener: WebMessageListener)

  val added = mutableMapOf<WebView, Added>()

  fun removeWebMessageListener(view: WebView, name: String) {
    if (added[view]?.name == name) added.remove(view)
  }

  fun addWebMessageListener(view: WebView, name: String, origins: Set<String>, listener: WebMessageListener) {
    require(added[view]?.name != name) { "$name was already added" }
    added[view] = Added(name, origins, listener)
  }
}
