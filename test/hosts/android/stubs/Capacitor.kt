package com.getcapacitor

import android.app.Activity
import android.webkit.WebView

class Bridge {
  val webView = WebView("bridge")

  fun reload() {}
}

open class BridgeActivity : Activity() {
  protected val bridge = Bridge()
}
