/** The Android Keystore as a provider of a JVM, with its keys in memory. It does not check what a key is for. */
package android.security.keystore

import java.io.InputStream
import java.io.OutputStream
import java.security.Key
import java.security.KeyStoreSpi
import java.security.Provider
import java.security.ProviderException
import java.security.SecureRandom
import java.security.Security
import java.security.UnrecoverableKeyException
import java.security.cert.Certificate
import java.security.spec.AlgorithmParameterSpec
import java.util.Collections
import java.util.Date
import javax.crypto.KeyGeneratorSpi
import javax.crypto.SecretKey
import javax.crypto.spec.SecretKeySpec

object KeyProperties {
  const val PURPOSE_ENCRYPT = 1
  const val PURPOSE_DECRYPT = 2
  const val BLOCK_MODE_GCM = "GCM"
  const val ENCRYPTION_PADDING_NONE = "NoPadding"
  const val KEY_ALGORITHM_AES = "AES"
}

class KeyGenParameterSpec private constructor(val keystoreAlias: String) : AlgorithmParameterSpec {
  @Suppress("UNUSED_PARAMETER")
  class Builder(private val name: String, purposes: Int) {
    fun setBlockModes(mode: String) = this

    fun setEncryptionPaddings(padding: String) = this

    fun setKeySize(bits: Int) = this

    fun build() = KeyGenParameterSpec(name)
  }
}

class AndroidKeyStore : Provider("AndroidKeyStore", "1", "") {
  init {
    put("KeyStore.AndroidKeyStore", Keys::class.java.name)
    put("KeyGenerator.AES", Generator::class.java.name)
  }

  /** A key that a JVM refuses as Android does one that is invalidated: `InvalidKeyException`. */
  private class Invalid : SecretKey {
    override fun getAlgorithm() = "AES"

    override fun getFormat() = null

    override fun getEncoded() = null
  }

  class Keys : KeyStoreSpi() {
    override fun engineGetKey(alias: String, password: CharArray?): Key? = when (fault) {
      "busy" -> throw ProviderException("too many operations")
      "unrecoverable" -> throw UnrecoverableKeyException()
      else -> keys[alias]
    }

    override fun engineDeleteEntry(alias: String) {
      keys.remove(alias)
    }

    override fun engineLoad(stream: InputStream?, password: CharArray?) {}

    override fun engineStore(stream: OutputStream?, password: CharArray?) {}

    override fun engineAliases() = Collections.enumeration(keys.keys)

    override fun engineContainsAlias(alias: String) = alias in keys

    override fun engineSize() = keys.size

    override fun engineIsKeyEntry(alias: String) = alias in keys

    override fun engineIsCertificateEntry(alias: String) = false

    override fun engineGetCertificate(alias: String): Certificate? = null

    override fun engineGetCertificateAlias(certificate: Certificate?): String? = null

    override fun engineGetCertificateChain(alias: String): Array<Certificate>? = null

    override fun engineGetCreationDate(alias: String): Date? = null

    override fun engineSetCertificateEntry(alias: String, certificate: Certificate?) = throw UnsupportedOperationException()

    override fun engineSetKeyEntry(alias: String, key: ByteArray?, chain: Array<out Certificate>?) = throw UnsupportedOperationException()

    override fun engineSetKeyEntry(alias: String, key: Key?, password: CharArray?, chain: Array<out Certificate>?) =
      throw UnsupportedOperationException()
  }

  class Generator : KeyGeneratorSpi() {
    private var alias = ""

    override fun engineInit(spec: AlgorithmParameterSpec, random: SecureRandom?) {
      alias = (spec as KeyGenParameterSpec).keystoreAlias
    }

    override fun engineInit(random: SecureRandom?) = throw UnsupportedOperationException()

    override fun engineInit(bits: Int, random: SecureRandom?) = throw UnsupportedOperationException()

    override fun engineGenerateKey(): SecretKey {
      if (fault == "unrecoverable") fault = ""
      return SecretKeySpec(ByteArray(32).also(SecureRandom()::nextBytes), "AES").also { keys[alias] = it }
    }
  }

  companion object {
    private val keys = HashMap<String, Key>()

    /** What goes wrong: `busy`, for a while; `unrecoverable` until there is a new key. */
    @Volatile var fault = ""

    /** Start without keys. */
    fun install() {
      if (Security.getProvider("AndroidKeyStore") == null) Security.addProvider(AndroidKeyStore())
      keys.clear()
      fault = ""
    }

    /** Make all keys unusable. */
    fun invalidate() = keys.replaceAll { _, _ -> Invalid() }
  }
}
