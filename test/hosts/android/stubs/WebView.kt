package android.webkit

/** @param name  tells the rig which webview it is. */
class WebView(val name: String)
