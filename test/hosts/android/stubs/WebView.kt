package android.webkit

import android.content.Context

/** @param name  tells the rig which webview it is. */
class WebView(val name: String) {
  constructor(@Suppress("UNUSED_PARAMETER") context: Context) : this("")

  val settings = WebSettings()

  fun destroy() {}

  fun loadUrl(@Suppress("UNUSED_PARAMETER") url: String) {}
}

class WebSettings {
  var javaScriptEnabled = false
}
