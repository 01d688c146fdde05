package android.os

object Build {
  object VERSION {
    val SDK_INT: Int = 35
  }
}

class UserManager {
  val isUserUnlocked: Boolean
    get() = isUnlocked

  companion object {
    /** For all. */
    @Volatile var isUnlocked = true
  }
}
