/*
 * The app's side of `tessera-id/webview`, for iOS. Copy this file into your app.
 *
 * It needs iOS 14. The messages are described in docs/webview.md. It has not been compiled or run: tests check only its syntax, and that
 * its constants and messages are those of hosts/android/TesseraHost.kt, which they run. Tell us what you find.
 */

import CryptoKit
import Foundation
import WebKit

/// Who refreshes the identity. With `app`, the page has `owner: 'host'` and `refresh: 'off'`; with `page`, the defaults.
public enum TesseraOwner {
  case app
  case page
}

/// Where the app keeps the identity. It contains secrets: use the Keychain, with an accessibility that ends in `ThisDeviceOnly`.
public protocol TesseraStorage {
  /// Return what was last written, or nil.
  func read() throws -> String?
  func write(_ text: String) throws
}

/// What the app is told, on the main thread.
@MainActor
public protocol TesseraListener: AnyObject {
  /// There is another advertising token, or, if it is nil, none any more.
  func tokenChanged(_ advertisingToken: String?)
  /// With `TesseraOwner.app`: a user is signed in and there is no set, or the service no longer accepts it. Request one from your server
  /// for the user who is signed in there, and pass it to `renewed`; if nobody is, call `signedOut`. Called again at the next start of the
  /// app and at each `resume` until you have done so. If another user has signed in meanwhile, drop the set.
  func needsTokens()
  /// A line for a debug log: a message without its body, or a failure. It contains no token and no key.
  func log(_ line: String)
}

/// The answer is not the JSON of a `generate` response, its body or an opt-out. The error never quotes it.
public struct TesseraAnswerError: Error {}

/// Shares one identity with the pages in the app's webviews, and keeps it between starts of the app.
@MainActor
public final class TesseraHost: NSObject, WKScriptMessageHandler {
  private static let timeout: TimeInterval = 10
  private static let firstPauseMs = 5_000.0
  private static let minPauseMs = 30_000.0
  private static let dueOnArrivalMs = 60_000.0
  private static let maxPauseMs = 300_000.0
  private static let dayMs = 86_400_000.0
  private static let ended = ["invalid_token", "expired_token"]

  private let baseUrl: String
  private let origins: Set<String>
  private let storage: TesseraStorage
  private let owner: TesseraOwner
  private let channel: String
  private weak var listener: TesseraListener?
  private let requests: URLSession

  /// The webviews that have sent a message.
  private let views = NSHashTable<WKWebView>.weakObjects()
  /// Those whose page has been handed the set once more, because it had lost it.
  private let restored = NSHashTable<WKWebView>.weakObjects()

  private var state: State
  private var lastToken: String?
  private var isActive = true
  private var isRefreshing = false
  /// The service has refused the set: only `needsTokens` helps.
  private var isRefused = false
  /// Refreshes in a row that have failed.
  private var failures = 0
  /// No refresh starts before this instant of `now`.
  private var notBefore = 0.0
  /// The service has asked for the pause: `resume` does not end it.
  private var isPauseAsked = false
  /// The service's clock minus this device's, ms; 0 within a minute.
  private var offsetMs = 0.0
  private var timer: Timer?

  /// - Parameters:
  ///   - baseUrl: the operator, `https://operator.example`.
  ///   - origins: the origins of your pages, `https://www.publisher.example`. Messages of other pages are ignored.
  ///   - channel: the option `channel` of the page.
  public init(
    baseUrl: String, origins: Set<String>, storage: TesseraStorage, listener: TesseraListener,
    owner: TesseraOwner = .app, channel: String = "tesseraHost"
  ) {
    self.baseUrl = baseUrl.hasSuffix("/") ? String(baseUrl.dropLast()) : baseUrl
    self.origins = origins
    self.storage = storage
    self.listener = listener
    self.owner = owner
    self.channel = channel
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = TesseraHost.timeout
    requests = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    state = State(text: (try? storage.read()) ?? nil)
    super.init()
    lastToken = advertisingToken
    schedule()
    // Not yet: the listener may use the host.
    if isWithoutSet { Task { @MainActor [weak self] in self?.askForTokens() } }
  }

  /// The token for the app's own ads; nil if there is none, if it has expired, and after a logout or an opt-out.
  public var advertisingToken: String? {
    guard let told = told, now() < told.expiresAt else { return nil }
    return told.token
  }

  private var told: Told? {
    if state.user == .optedOut { return nil }
    if owner == .app, let set = state.set { return set.told }
    return state.told
  }

  /// Add the bridge to the configuration of a webview, before the webview is created.
  public func attach(to configuration: WKWebViewConfiguration) {
    configuration.userContentController.add(self, name: channel)
  }

  /// A user has signed in in the app.
  ///
  /// - Parameter answer: JSON that your server has received from the operator: a `generate` response, its body, or
  ///   `{"status":"optout"}`.
  /// - Throws: `TesseraAnswerError` if it is anything else. Then nothing has changed.
  public func signedIn(_ answer: Data) throws {
    adopt(try parseAnswer(answer), state.gen + 1)
  }

  /// As `signedIn`, with a newer set of the same user, whom the app has not signed in again. After `signedOut` or an opt-out it changes nothing.
  public func renewed(_ answer: Data) throws {
    let set = try parseAnswer(answer)
    // The answer has taken longer than the user.
    if state.user == .signedOut || state.user == .optedOut { listener?.log("renewed: nobody is signed in") } else { adopt(set, state.gen) }
  }

  /// The user has signed out in the app.
  public func signedOut() {
    change(State(gen: state.gen + 1, user: .signedOut))
    broadcast()
  }

  /// The app is in the foreground, or the network is back. A refresh that is due starts now.
  public func resume() {
    isActive = true
    if failures > 0 && !isPauseAsked { notBefore = 0 }
    askForTokens()
    onWake()
  }

  /// The app is in the background: no refresh starts until `resume`.
  public func pause() {
    isActive = false
    timer?.invalidate()
  }

  // MARK: The bridge

  public func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage) {
    guard message.frameInfo.isMainFrame, origins.contains(originOf(message.frameInfo.securityOrigin)),
      let view = message.webView, let text = message.body as? String,
      let received = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
      received["ns"] as? String == "tessera"
    else { return }
    let kind = received["kind"] as? String ?? ""
    let type = received["type"] as? String ?? ""
    let body = received["body"] as? [String: Any] ?? [:]
    log("page", received, body["phase"] as? String)
    views.add(view)
    if received["v"] as? Int != 1 {
      if kind == "req" { answer(view, received, nil, "version") }
      return
    }
    if type == "hello" { restored.remove(view) }
    if type == "changed" { pageChanged(view, received["gen"] as? Int ?? 0, body) }
    if kind != "req" { return }
    if type == "get" && isWaiting { return }
    answer(view, received, type == "get" ? state.answer : nil, nil)
  }

  /// Write an origin as browsers do. The port of a default one is 0.
  private func originOf(_ origin: WKSecurityOrigin) -> String {
    let port = origin.port == 0 ? "" : ":\(origin.port)"
    return "\(origin.`protocol`)://\(origin.host)\(port)"
  }

  private func pageChanged(_ view: WKWebView, _ gen: Int, _ body: [String: Any]) {
    // A page that has not yet received what the app has done.
    if gen < state.gen { return }
    let phase = body["phase"] as? String
    let told = (body["advertisingToken"] as? String).map { Told(token: $0, expiresAt: body["expiresAt"] as? Double ?? 0) }
    if gen > state.gen {
      // The set belongs to the user before.
      change(State(gen: gen, user: told != nil ? .signedIn : phase == "optedOut" ? .optedOut : .signedOut, told: told))
      if told == nil { broadcast(except: view) } else { askForTokens() }
      return
    }
    // The app has signed the user out, and the page has not received it yet.
    if state.user == .signedOut || state.user == .optedOut { return }
    let set = state.set
    if phase == "optedOut" {
      // The page has learned of it without the app. If the app owns a set, the service is asked whether it still accepts it.
      notBefore = 0
      change(State(gen: gen, user: .optedOut, set: owner == .app ? set : nil))
    } else if let told = told {
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      if owner == .page || isWithoutSet { change(State(gen: gen, user: .signedIn, set: set, told: told)) }
    } else if phase == "empty" && owner == .page && set != nil && !restored.contains(view) {
      // The page owns the identity and has lost its storage. The set that the app signed in with may still be refreshed.
      restored.add(view)
      send(view, stateMessage())
    }
  }

  /// A user is signed in, and the app has no set of that user.
  private var isWithoutSet: Bool { state.user == .signedIn && state.set == nil }

  /// There will be a set, or another one. A `get` has no answer until then: nil would log the user out. Pages repeat it, and are told.
  private var isWaiting: Bool { isWithoutSet || isRefreshing && advertisingToken == nil }

  private func askForTokens() {
    if owner == .app && (isWithoutSet || isRefused) { listener?.needsTokens() }
  }

  /// What the app knows: its set, an opt-out, or that nobody is signed in.
  private func stateMessage() -> [String: Any] {
    let body = state.answer
    return ["kind": "evt", "type": body == nil ? "clear" : "set", "body": orNull(body)]
  }

  private func orNull(_ body: [String: Any]?) -> Any {
    if let body = body { return body }
    return NSNull()
  }

  /// Tell all pages, except that of one webview.
  private func broadcast(except: WKWebView? = nil) {
    for view in views.allObjects where view !== except { send(view, stateMessage()) }
  }

  private func answer(_ view: WKWebView, _ request: [String: Any], _ body: [String: Any]?, _ error: String?) {
    var message: [String: Any] = ["kind": "res", "type": request["type"] ?? "", "id": request["id"] ?? "", "body": orNull(body)]
    if let error = error { message["error"] = error }
    send(view, message)
  }

  private func send(_ view: WKWebView, _ message: [String: Any]) {
    var whole = message
    whole["v"] = 1
    whole["ns"] = "tessera"
    whole["gen"] = state.gen
    log("app", whole, whole["error"] as? String)
    guard let json = try? JSONSerialization.data(withJSONObject: whole) else { return }
    // Any other site that the webview shows by now must not receive the set. A site cannot change what `location.origin` returns.
    let isOwnPage = origins.map { "location.origin === \(quoted($0))" }.joined(separator: " || ")
    view.evaluateJavaScript("if (\(isOwnPage)) window.postMessage(\(quoted(String(decoding: json, as: UTF8.self))), '/')")
  }

  private func quoted(_ text: String) -> String {
    (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "''"
  }

  // MARK: The identity

  private func adopt(_ set: TokenSet?, _ gen: Int) {
    failures = 0
    notBefore = 0
    if let set = set {
      change(State(gen: gen, user: .signedIn, set: set, told: set.told))
    } else {
      change(State(gen: max(gen, state.gen + 1), user: .optedOut))
    }
    broadcast()
  }

  private func change(_ next: State) {
    if next.set !== state.set { isRefused = false }
    state = next
    do { try storage.write(next.text) } catch { listener?.log("storage: \(type(of: error))") }
    notifyToken()
    schedule()
  }

  private func notifyToken() {
    let token = advertisingToken
    if token == lastToken { return }
    lastToken = token
    listener?.tokenChanged(token)
  }

  private func now() -> Double { Date().timeIntervalSince1970 * 1000 + offsetMs }

  // MARK: Refreshing

  /// When the next refresh starts; nil if none will.
  private func refreshAt() -> Double? {
    guard owner == .app, let set = state.set, !isRefreshing, !isRefused else { return nil }
    // If the clock was set back, the longest pause counts from now.
    return max(state.user == .optedOut ? 0 : set.refreshFrom, min(notBefore, now() + TesseraHost.dayMs))
  }

  /// Set the timer to the next refresh or the expiry of the token, whichever is first.
  private func schedule() {
    timer?.invalidate()
    let expiry = advertisingToken == nil ? nil : told?.expiresAt
    guard isActive, let next = [refreshAt(), expiry].compactMap({ $0 }).min() else { return }
    timer = Timer.scheduledTimer(withTimeInterval: max(0, next - now()) / 1000, repeats: false) { [weak self] _ in
      Task { @MainActor [weak self] in self?.onWake() }
    }
  }

  private func onWake() {
    notifyToken()
    if let at = refreshAt(), at <= now() { startRefresh() }
    schedule()
  }

  private func startRefresh() {
    guard let set = state.set, !isRefreshing else { return }
    guard let url = URL(string: "\(baseUrl)/v2/token/refresh") else {
      refreshed(Outcome(data: nil, response: nil, error: URLError(.badURL), key: set.responseKey))
      return
    }
    isRefreshing = true
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(set.refreshToken.utf8)
    requests.dataTask(with: request) { data, response, error in
      let outcome = Outcome(data: data, response: response as? HTTPURLResponse, error: error, key: set.responseKey)
      Task { @MainActor [weak self] in
        guard let self = self else { return }
        self.isRefreshing = false
        // A sign-in or a logout in the meantime: the outcome is too late.
        if self.state.set === set { self.refreshed(outcome) }
        self.schedule()
      }
    }.resume()
  }

  /// A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody.
  private func dueOnArrival(_ set: TokenSet) -> Double {
    let expiresAt = set.told.expiresAt
    if set.refreshFrom - now() > min(TesseraHost.dueOnArrivalMs, (expiresAt - set.refreshFrom) / 20) { return 0 }
    return max((max(set.refreshFrom, now()) + expiresAt) / 2, now() + TesseraHost.minPauseMs)
  }

  private func refreshed(_ outcome: Outcome) {
    listener?.log("refresh: \(outcome.name)")
    let device = Date().timeIntervalSince1970 * 1000
    offsetMs = outcome.dateMs.map { abs($0 - device) < 60_000 ? 0 : $0 - device } ?? 0
    if outcome.name == "success" || outcome.name == "optout" {
      adopt(outcome.set, state.gen)
      if let set = outcome.set { notBefore = dueOnArrival(set) }
    } else if TesseraHost.ended.contains(outcome.name) {
      isRefused = true
      askForTokens()
    } else {
      let pause = min(TesseraHost.firstPauseMs * pow(2, Double(failures)), TesseraHost.maxPauseMs)
      failures += 1
      isPauseAsked = outcome.retryAfterMs > pause
      notBefore = now() + max(pause, min(outcome.retryAfterMs, TesseraHost.dayMs))
    }
    // The token may have expired in the meantime.
    notifyToken()
  }

  private func log(_ from: String, _ message: [String: Any], _ more: String?) {
    let words = "\(from): \(message["kind"] ?? "") \(message["type"] ?? ""), gen \(message["gen"] ?? "") \(more ?? "")"
    listener?.log(words.trimmingCharacters(in: .whitespaces))
  }
}

/// A redirect would send the refresh token to another server.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}

/// How a refresh has ended.
private struct Outcome {
  private static let maxBytes = 65_536

  var name: String
  var set: TokenSet?
  /// The service's clock, epoch ms.
  var dateMs: Double?
  var retryAfterMs = 0.0

  init(data: Data?, response: HTTPURLResponse?, error: Error?, key: Data) {
    guard let response = response, let data = data, data.count <= Outcome.maxBytes else {
      name = "failed: \((error as? URLError)?.code.rawValue ?? 0)"
      return
    }
    name = "failed: HTTP \(response.statusCode)"
    retryAfterMs = (response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init) ?? 0) * 1000
    dateMs = response.value(forHTTPHeaderField: "Date").flatMap(Outcome.parseDate)
    if response.statusCode == 200 {
      do {
        // AES-256-GCM: iv[12], ciphertext, tag[16].
        guard let sealed = Data(base64Encoded: data, options: .ignoreUnknownCharacters) else { throw TesseraAnswerError() }
        let plain = try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: SymmetricKey(data: key))
        set = try parseAnswer(plain)
        name = set == nil ? "optout" : "success"
      } catch {
        name = "failed: \(type(of: error))"
      }
    } else if response.statusCode == 400,
      let answer = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
      let status = answer["status"] as? String, ["invalid_token", "expired_token"].contains(status)
    {
      name = status
    }
  }

  private static func parseDate(_ text: String) -> Double? {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return format.date(from: text).map { $0.timeIntervalSince1970 * 1000 }
  }
}

/// Nil: the user has opted out.
private func parseAnswer(_ data: Data) throws -> TokenSet? {
  guard let answer = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { throw TesseraAnswerError() }
  let status = answer["status"] as? String
  if status == "optout" { return nil }
  if answer["status"] != nil && status != "success" { throw TesseraAnswerError() }
  guard let body = status == nil ? answer : answer["body"] as? [String: Any], let set = TokenSet(body) else {
    throw TesseraAnswerError()
  }
  return set
}

/// An advertising token and its expiry, epoch ms.
private struct Told {
  let token: String
  let expiresAt: Double
}

/// The body of a `generate` or `refresh` response. It does not change, so threads may share it.
private final class TokenSet: @unchecked Sendable {
  /// 2001; a time in seconds is before it.
  private static let earliest = 1_000_000_000_000.0

  let body: [String: Any]
  let told: Told
  let refreshToken: String
  let refreshFrom: Double
  let responseKey: Data

  /// Nil if a member is missing or of another kind.
  init?(_ body: [String: Any]) {
    guard let token = body["advertising_token"] as? String, !token.isEmpty,
      let refreshToken = body["refresh_token"] as? String, !refreshToken.isEmpty,
      let key = (body["refresh_response_key"] as? String).flatMap({ Data(base64Encoded: $0) }), key.count == 32,
      let refreshFrom = body["refresh_from"] as? Double, let expiresAt = body["identity_expires"] as? Double,
      let refreshExpires = body["refresh_expires"] as? Double,
      refreshFrom >= TokenSet.earliest, refreshFrom <= expiresAt, expiresAt <= refreshExpires
    else { return nil }
    self.body = body
    told = Told(token: token, expiresAt: expiresAt)
    self.refreshToken = refreshToken
    self.refreshFrom = refreshFrom
    responseKey = key
  }
}

private enum User: String {
  case unknown, signedIn, signedOut, optedOut
}

/// What the app keeps.
private struct State {
  let gen: Int
  let user: User
  /// What the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse.
  let set: TokenSet?
  /// The last token of which the app knows.
  let told: Told?

  init(gen: Int = 0, user: User = .unknown, set: TokenSet? = nil, told: Told? = nil) {
    self.gen = gen
    self.user = user
    self.set = set
    self.told = told
  }

  /// Read what `text` has written. Anything else is no state.
  init(text: String?) {
    guard let text = text, let stored = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
      let user = (stored["user"] as? String).flatMap(User.init(rawValue:))
    else {
      self.init()
      return
    }
    let told = (stored["token"] as? String).map { Told(token: $0, expiresAt: stored["expiresAt"] as? Double ?? 0) }
    let set = (stored["set"] as? [String: Any]).flatMap { TokenSet($0) }
    self.init(gen: stored["gen"] as? Int ?? 0, user: user, set: set, told: told)
  }

  /// The body of a `set`, or nil if nobody is signed in.
  var answer: [String: Any]? { user == .optedOut ? ["status": "optout"] : set?.body }

  var text: String {
    var stored: [String: Any] = ["gen": gen, "user": user.rawValue]
    if let set = set { stored["set"] = set.body }
    if let told = told {
      stored["token"] = told.token
      stored["expiresAt"] = told.expiresAt
    }
    guard let json = try? JSONSerialization.data(withJSONObject: stored) else { return "{}" }
    return String(decoding: json, as: UTF8.self)
  }
}
