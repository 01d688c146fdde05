/** What the smallest app needs of `androidx.lifecycle` to be compiled. */
package androidx.lifecycle

interface LifecycleObserver

fun interface LifecycleEventObserver : LifecycleObserver {
  fun onStateChanged(source: LifecycleOwner, event: Lifecycle.Event)
}

interface LifecycleOwner {
  val lifecycle: Lifecycle
}

abstract class Lifecycle {
  enum class Event { ON_CREATE, ON_START, ON_RESUME, ON_PAUSE, ON_STOP, ON_DESTROY, ON_ANY }

  abstract fun addObserver(observer: LifecycleObserver)
}

class ProcessLifecycleOwner private constructor() : LifecycleOwner {
  override val lifecycle = object : Lifecycle() {
    override fun addObserver(observer: LifecycleObserver) {}
  }

  companion object {
    fun get(): LifecycleOwner = ProcessLifecycleOwner()
  }
}
