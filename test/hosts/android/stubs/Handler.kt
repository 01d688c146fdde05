/** One thread with a queue, as Android's main thread. Its clock is the rig's, so a test can move it. */
package android.os

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit

class Looper private constructor() {
  companion object {
    private val main = Looper()

    fun getMainLooper() = main

    fun myLooper() = if (Thread.currentThread() === Handler.thread) main else null
  }
}

class Handler(@Suppress("UNUSED_PARAMETER") looper: Looper) {
  fun post(work: Runnable) = queue.add(work)

  fun postDelayed(work: Runnable, ms: Long) = timers.add(Timer(now() + ms, work))

  fun removeCallbacks(work: Runnable) {
    timers.removeAll { it.work === work }
  }

  private class Timer(val at: Long, val work: Runnable)

  companion object {
    private val queue = LinkedBlockingQueue<Runnable>()
    private val timers = mutableListOf<Timer>()
    val thread: Thread = Thread.currentThread()

    /** How far the clock is ahead of this machine's, ms. */
    @Volatile var ahead = 0L

    fun now() = System.currentTimeMillis() + ahead

    /** Add work from another thread. */
    fun enqueue(work: Runnable) = queue.add(work)

    /** How many timers are set. */
    fun timerCount() = timers.size

    /** Forget all timers, as when an app ends. */
    fun clear() = timers.clear()

    /** Run what is due, for ever. */
    fun loop() {
      while (true) {
        val next = timers.minByOrNull { it.at }
        val work = queue.poll(if (next == null) 3_600_000 else maxOf(0, next.at - now()), TimeUnit.MILLISECONDS)
        if (work != null) work.run()
        else if (next != null && next.at <= now() && timers.remove(next)) next.work.run()
      }
    }
  }
}
