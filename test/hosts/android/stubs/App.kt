package android.app

import android.content.Context
import android.os.Bundle
import android.webkit.WebView
import java.io.File

open class Application : Context(File(".")) {
  open fun onCreate() {}
}

open class Activity : Context(File(".")) {
  val application = Application()

  protected open fun onCreate(state: Bundle?) {}

  protected open fun onDestroy() {}

  fun setContentView(@Suppress("UNUSED_PARAMETER") view: WebView) {}
}
