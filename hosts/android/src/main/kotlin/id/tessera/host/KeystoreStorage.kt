/** A file of the app, encrypted with a key that never leaves the Android Keystore. */
package id.tessera.host

import android.content.Context
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import android.util.AtomicFile
import java.io.File
import java.io.FileNotFoundException
import java.io.IOException
import java.security.KeyStore
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec

/** @param name  of the file, in the app's folder that is in no backup, and of the key. */
class KeystoreStorage(context: Context, private val name: String = "tessera") : TesseraStorage {
  private val path = File(context.noBackupFilesDir, name)
  private val file = AtomicFile(path)

  override val key: Any = path.absolutePath

  /** A file that is there and does not open, as after `AEADBadTagException`, is unreadable, not absent. */
  override fun read(): String? {
    val sealed = try {
      file.readFully()
    } catch (_: FileNotFoundException) {
      if (path.exists()) throw IOException("the file cannot be opened")
      return null
    }
    val secret = keyStore().getKey(name, null) as? SecretKey ?: throw IOException("the key is lost")
    val cipher = Cipher.getInstance(AES)
    cipher.init(Cipher.DECRYPT_MODE, secret, GCMParameterSpec(128, sealed, 0, IV_LENGTH))
    return String(cipher.doFinal(sealed, IV_LENGTH, sealed.size - IV_LENGTH), Charsets.UTF_8)
  }

  /** iv[12], ciphertext, tag[16]. The Keystore chooses the iv. A key that can no longer be used is replaced, once. */
  override fun write(text: String) {
    val cipher = try {
      encryption()
    } catch (_: Exception) {
      keyStore().deleteEntry(name)
      encryption()
    }
    val sealed = cipher.iv + cipher.doFinal(text.toByteArray())
    val stream = file.startWrite()
    try {
      stream.write(sealed)
      file.finishWrite(stream)
    } catch (error: IOException) {
      file.failWrite(stream)
      throw error
    }
  }

  private fun encryption(): Cipher {
    val secret = keyStore().getKey(name, null) as? SecretKey ?: newKey()
    return Cipher.getInstance(AES).apply { init(Cipher.ENCRYPT_MODE, secret) }
  }

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
    const val STORE = "AndroidKeyStore"
    const val AES = "AES/GCM/NoPadding"
    const val IV_LENGTH = 12
  }
}
