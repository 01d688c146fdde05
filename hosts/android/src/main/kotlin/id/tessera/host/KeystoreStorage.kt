/** A file of the app, encrypted with a key that never leaves the Android Keystore. */
package id.tessera.host

import android.content.Context
import android.os.Build
import android.os.UserManager
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import android.util.AtomicFile
import java.io.File
import java.io.FileNotFoundException
import java.io.IOException
import java.security.GeneralSecurityException
import java.security.InvalidKeyException
import java.security.KeyStore
import java.security.UnrecoverableKeyException
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec

/** @param name  of the file, in the app's folder that is in no backup, and of the key. */
class KeystoreStorage @JvmOverloads constructor(context: Context, private val name: String = "tessera") : TesseraStorage {
  private val app = context.applicationContext
  private val path = File(context.noBackupFilesDir, name)
  private val file = AtomicFile(path)

  override val key: Any = path.absolutePath

  /** A file that is there and does not open, as after `AEADBadTagException`, is unreadable, not absent. */
  override fun read(): String? {
    // The app's folder looks empty until then.
    if (Build.VERSION.SDK_INT >= 24 && app.getSystemService(UserManager::class.java)?.isUserUnlocked == false)
      throw IOException("nobody has unlocked the device since it started")
    val sealed = try {
      synchronized(lock) { file.readFully() }
    } catch (_: FileNotFoundException) {
      if (path.exists()) throw IOException("the file cannot be opened")
      return null
    }
    val secret = keyStore().getKey(name, null) as? SecretKey ?: throw IOException("the key is lost")
    val cipher = Cipher.getInstance(AES)
    cipher.init(Cipher.DECRYPT_MODE, secret, GCMParameterSpec(128, sealed, 0, IV_LENGTH))
    return String(cipher.doFinal(sealed, IV_LENGTH, sealed.size - IV_LENGTH), Charsets.UTF_8)
  }

  /** iv[12], ciphertext, tag[16]. The Keystore chooses the iv. */
  override fun write(text: String) {
    val cipher = encryption()
    val sealed = cipher.iv + cipher.doFinal(text.toByteArray())
    synchronized(lock) {
      val stream = file.startWrite()
      try {
        stream.write(sealed)
        stream.fd.sync()
      } catch (error: IOException) {
        file.failWrite(stream)
        throw error
      }
      // It only logs that the file could not be closed or renamed.
      file.finishWrite(stream)
      if (!file.readFully().contentEquals(sealed)) throw IOException("the file was not replaced")
    }
  }

  private fun encryption(): Cipher =
    try {
      encryptionWith(keyStore().getKey(name, null) as? SecretKey ?: newKey())
    } catch (error: GeneralSecurityException) {
      // Another failure may pass, and what is stored cannot be read without the key.
      if (error !is InvalidKeyException && error !is UnrecoverableKeyException) throw error
      encryptionWith(newKey())
    }

  private fun encryptionWith(secret: SecretKey) = Cipher.getInstance(AES).apply { init(Cipher.ENCRYPT_MODE, secret) }

  /** Replaces the key of this name, if there is one. */
  private fun newKey(): SecretKey {
    val purposes = KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT
    val builder = KeyGenParameterSpec.Builder(name, purposes)
    builder.setBlockModes(KeyProperties.BLOCK_MODE_GCM).setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE).setKeySize(256)
    val generator = KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, STORE)
    generator.init(builder.build())
    return generator.generateKey()
  }

  private fun keyStore() = KeyStore.getInstance(STORE).apply { load(null) }

  private companion object {
    /** `AtomicFile` bears one call at a time: reading deletes what is being written. */
    val lock = Any()
    const val STORE = "AndroidKeyStore"
    const val AES = "AES/GCM/NoPadding"
    const val IV_LENGTH = 12
  }
}
