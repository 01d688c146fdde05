#if canImport(Security)
  // An item of the Keychain that is readable after the first unlock, stays on this device, and is in no backup. Not compiled on Linux.

  import Foundation
  import Security

  /// Why the Keychain cannot be read or written now: an `OSStatus`, such as `errSecInteractionNotAllowed` before the first unlock.
  public struct KeychainError: Error, CustomStringConvertible {
    public let status: Int32

    public var description: String { "KeychainError \(status)" }
  }

  public final class KeychainStorage: TesseraStorage {
    public let name: String
    private let account: String

    /// - Parameter account: the name of the item.
    public init(account: String = "tessera") {
      self.account = account
      name = "keychain \(account)"
    }

    public func read() async throws -> String? {
      let account = self.account
      return try await onQueue { try KeychainStorage.read(account) }
    }

    public func write(_ text: String) async throws {
      let account = self.account
      _ = try await onQueue { try KeychainStorage.write(text, account) }
    }

    /// The Keychain may block its thread.
    private func onQueue(_ work: @escaping @Sendable () throws -> String?) async throws -> String? {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .utility).async { continuation.resume(with: Result { try work() }) }
      }
    }

    private static func item(_ account: String) -> [String: Any] {
      [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "id.tessera.host",
        kSecAttrAccount as String: account,
      ]
    }

    /// Nil only if there is no item.
    private static func read(_ account: String) throws -> String? {
      var query = item(account)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw KeychainError(status: status) }
      return String(decoding: data, as: UTF8.self)
    }

    private static func write(_ text: String, _ account: String) throws -> String? {
      let values: [String: Any] = [
        kSecValueData as String: Data(text.utf8),
        kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      var status = SecItemUpdate(item(account) as CFDictionary, values as CFDictionary)
      if status == errSecItemNotFound {
        status = SecItemAdd(item(account).merging(values) { $1 } as CFDictionary, nil)
      }
      if status != errSecSuccess { throw KeychainError(status: status) }
      return nil
    }
  }
#endif
