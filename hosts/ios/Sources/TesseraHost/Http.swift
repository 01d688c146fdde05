// One request for a newer set. The machine ends it after 60 s, and reads nothing that arrives later.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(CryptoKit)
  import CryptoKit
#endif

private let maxBytes = 65_536
private let timeout: TimeInterval = 60

/// AES-256-GCM: iv[12], ciphertext, tag[16]. Only Apple's systems have it without another package; elsewhere no answer opens.
func openSealed(_ sealed: Data, _ key: Data) throws -> Data {
  #if canImport(CryptoKit)
    return try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: SymmetricKey(data: key))
  #else
    throw TesseraError.answer
  #endif
}

/// What an answer of the service means. One that does not open is not better at once.
func outcomeOf(status: Int, text: Data, key: Data, open: (Data, Data) throws -> Data) -> Outcome {
  struct Refusal: Decodable {
    let status: String
  }
  var outcome = Outcome(kind: .failed, why: "HTTP \(status)")
  if status == 200 {
    outcome.kind = .refused
    if let sealed = decodeBase64(String(decoding: text, as: UTF8.self)), let json = try? open(sealed, key),
      let answer = try? Answer(json)
    {
      outcome.kind = .optout
      if case .set(let set) = answer {
        outcome.kind = .success
        outcome.set = set
      }
    }
  } else if status >= 300 && status < 500 {
    let refusal = try? JSONDecoder().decode(Refusal.self, from: text)
    let isEnded = refusal?.status == "expired_token" || refusal?.status == "invalid_token"
    // The others may be another when the request is repeated.
    if status >= 400 && ![408, 425, 429].contains(status) { outcome.kind = .refused }
    if isEnded { outcome.kind = .ended }
  }
  return outcome
}

/// The date of a response, epoch ms.
func parseDate(_ text: String) -> Int? {
  let format = DateFormatter()
  format.locale = Locale(identifier: "en_US_POSIX")
  format.timeZone = TimeZone(identifier: "GMT")
  format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
  return format.date(from: text).map { Int($0.timeIntervalSince1970 * 1000) }
}

/// The lock guards what the queue of the session and `cancel` use.
final class RefreshRequest: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private let key: Data
  private let done: @Sendable (Outcome) -> Void
  private var text = Data()
  private var session: URLSession?

  /// - Parameter done: is called once, on the queue of the session.
  init(key: Data, done: @escaping @Sendable (Outcome) -> Void) {
    self.key = key
    self.done = done
  }

  func start(baseUrl: String, refreshToken: String) {
    guard let url = URL(string: "\(baseUrl)/v2/token/refresh") else {
      done(Outcome(kind: .failed, why: "URL"))
      return
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout
    configuration.timeoutIntervalForResource = timeout
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(refreshToken.utf8)
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    lock.lock()
    self.session = session
    lock.unlock()
    session.dataTask(with: request).resume()
  }

  func cancel() {
    lock.lock()
    let session = self.session
    lock.unlock()
    session?.invalidateAndCancel()
  }

  /// Keep what has arrived. Returns whether it is within the bound.
  func take(_ data: Data) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if text.count + data.count > maxBytes { return false }
    text.append(data)
    return true
  }

  /// A redirect would send the refresh token to another server.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if !take(data) { session.invalidateAndCancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    lock.lock()
    let text = self.text
    lock.unlock()
    session.finishTasksAndInvalidate()
    guard error == nil, let response = task.response as? HTTPURLResponse else {
      done(Outcome(kind: .failed, why: "network"))
      return
    }
    var outcome = outcomeOf(status: response.statusCode, text: text, key: key, open: openSealed)
    outcome.date = response.value(forHTTPHeaderField: "Date").flatMap(parseDate)
    let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) } ?? 0
    outcome.retryAfterMs = min(max(0, retryAfter), 86_400) * 1000
    done(outcome)
  }
}
