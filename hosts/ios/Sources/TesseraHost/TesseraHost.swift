// The app's side of `tessera-id/webview`, without WebKit: the storage, the network, the app's functions, and any thread that calls.
// `Machine.swift` has the rules; `WebViews.swift` connects webviews.

import Foundation

/// Where the app keeps the identity, which contains secrets: `KeychainStorage`.
public protocol TesseraStorage: AnyObject, Sendable {
  /// Two storages with one name are one. Default: every object is another storage.
  var name: String { get }
  /// Return what was last written; nil: nothing was. Throw if that cannot be told now.
  func read() async throws -> String?
  func write(_ text: String) async throws
}

extension TesseraStorage {
  public var name: String { "\(ObjectIdentifier(self))" }
}

/// The app has no set of the user who is signed in, or one that the service no longer accepts.
public struct TokenRequest: Sendable {
  let host: TesseraHost
  let number: Int

  /// Answer with JSON that your server has received from the operator for the user who is signed in there; nil logs out. Returns false
  /// if the answer is late: after another sign-in, a logout, an opt-out or another answer, it changes nothing.
  @discardableResult
  public func renew(_ answer: Data?) async throws -> Bool {
    try await host.renew(number, answer)
  }
}

/// The names of the storages that hosts of this process have. The lock guards them.
private final class Taken: @unchecked Sendable {
  private let lock = NSLock()
  private var names: Set<String> = []

  func add(_ name: String) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return names.insert(name).inserted
  }

  func remove(_ name: String) {
    lock.lock()
    defer { lock.unlock() }
    names.remove(name)
  }
}

private let taken = Taken()

/// Shares one identity with the pages in the app's webviews, and keeps it between starts of the app. Any thread may call.
public actor TesseraHost {
  typealias Delivery = @Sendable () async -> Void
  typealias Port = @Sendable (String) async -> Void

  /// As a browser writes them.
  nonisolated let origins: [String]
  private let url: String
  private let owner: TesseraOwner
  private let storage: any TesseraStorage
  private let storageName: String
  private let onToken: @Sendable (String?) -> Void
  private let onNeedsTokens: @Sendable (TokenRequest) async -> Void
  private let onLog: @Sendable (String) -> Void
  /// What pages and the app are told, in order.
  private let deliveries: AsyncStream<Delivery>.Continuation

  private var machine: Machine?
  private var around: Around?
  private var ports: [Int: Port] = [:]
  private var waiting: [(change: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  private var closing: [CheckedContinuation<Void, Never>] = []
  private var isClosed = false
  private var isReleased = false

  /// - Parameters:
  ///   - baseUrl: the operator, `https://operator.example`.
  ///   - origins: the origins of your pages, `https://www.publisher.example`. Messages of other pages are ignored.
  ///   - allowInsecure: permit plain http to every host, for tests.
  ///   - onToken: there is another advertising token, or, if it is nil, none any more. Runs off the main thread, as the other functions
  ///     do. What pages and the app are told next waits until it returns.
  ///   - onNeedsTokens: called again at the next start of the app and at each `resume` until the request is answered.
  ///   - onLog: a line for a debug log. It contains no token and no key.
  /// - Throws: `TesseraError.setting`; `TesseraError.storageTaken`: close the other host before.
  public init(
    baseUrl: String,
    origins: [String],
    storage: any TesseraStorage,
    owner: TesseraOwner = .app,
    allowInsecure: Bool = false,
    onToken: @escaping @Sendable (String?) -> Void = { _ in },
    onNeedsTokens: @escaping @Sendable (TokenRequest) async -> Void = { _ in },
    onLog: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    let url = try parseBaseUrl(baseUrl, allowInsecure: allowInsecure)
    let normalized = try parseOrigins(origins, allowInsecure: allowInsecure)
    let name = storage.name
    if !taken.add(name) { throw TesseraError.storageTaken }
    self.url = url
    self.origins = normalized
    self.owner = owner
    self.storage = storage
    storageName = name
    self.onToken = onToken
    self.onNeedsTokens = onNeedsTokens
    self.onLog = onLog
    let (stream, continuation) = AsyncStream.makeStream(of: Delivery.self)
    deliveries = continuation
    Task {
      for await deliver in stream { await deliver() }
    }
    Task { await self.begin() }
  }

  deinit {
    deliveries.finish()
    if !isReleased { taken.remove(storageName) }
  }

  /// The token for the app's own ads; nil if there is none, if it has expired, and after a logout or an opt-out.
  public var advertisingToken: String? { machine?.advertisingToken }

  /// A user has signed in in the app. Returns when that is stored.
  ///
  /// - Parameter answer: JSON that your server has received from the operator: a `generate` answer, its body, or `{"status":"optout"}`.
  /// - Throws: `TesseraError.answer` if it is anything else: nothing has changed. `TesseraError.storage`, `TesseraError.closed`.
  public func signedIn(_ answer: Data) async throws {
    let parsed = try Answer(answer)
    _ = try await stored { $0.changed(parsed) }
  }

  /// The user has signed out in the app. Returns when that is stored.
  public func signedOut() async throws {
    _ = try await stored { $0.changed(.signedOut) }
  }

  /// The user has opted out. Returns when that is stored.
  public func optedOut() async throws {
    _ = try await stored { $0.changed(.optedOut) }
  }

  /// The app is in the foreground, or the network is back. What is due starts now.
  public func resume() {
    enter { $0.resume() }
  }

  /// The app is in the background: no refresh starts until `resume`.
  public func pause() {
    enter { $0.pause() }
  }

  /// End timers, requests and messages. Returns when the writes that were running have ended: then another host may have the storage.
  public func close() async {
    if !isClosed {
      isClosed = true
      enter { $0.close() }
      ports = [:]
      deliveries.finish()
    }
    if !isReleased {
      await withCheckedContinuation { closing.append($0) }
    }
  }

  func renew(_ request: Int, _ answer: Data?) async throws -> Bool {
    let given: Answer = try answer.map { try Answer($0) } ?? .signedOut
    return try await stored { $0.renew(request, given) } > 0
  }

  /// A page has sent a message. `port` sends to it.
  func received(_ view: Int, _ text: String, _ port: @escaping Port) {
    if isClosed { return }
    ports[view] = port
    enter { $0.received(view, text) }
  }

  func left(_ view: Int) {
    ports[view] = nil
    enter { $0.left(view) }
  }

  // MARK: What has ended

  func wake() {
    enter { $0.wake() }
  }

  func readEnded(_ text: String?, _ error: String?) {
    enter { $0.readEnded(text, error) }
  }

  func writeEnded(_ id: Int, _ error: String?) {
    enter { $0.writeEnded(id, error) }
  }

  func refreshEnded(_ id: Int, _ outcome: Outcome) {
    around?.requests[id] = nil
    enter { $0.refreshEnded(id, outcome) }
  }

  // MARK: The machine

  private func begin() {
    enter { _ in }
  }

  /// The machine starts when it is used first.
  private func running() -> (Machine, Around) {
    if let machine = machine, let around = around { return (machine, around) }
    let newAround = Around(host: self, storage: storage, url: url)
    let newMachine = Machine(owner: owner, effects: newAround)
    around = newAround
    machine = newMachine
    newMachine.start()
    return (newMachine, newAround)
  }

  /// Change the machine, then pass on what it has said.
  @discardableResult
  private func enter<T>(_ work: (Machine) -> T) -> T {
    let (machine, around) = running()
    let result = work(machine)
    let said = around.said
    around.said = []
    for one in said { passOn(one) }
    return result
  }

  private func passOn(_ said: Around.Said) {
    let (onToken, onNeedsTokens, onLog) = (self.onToken, self.onNeedsTokens, self.onLog)
    switch said {
    case .send(let view, let text):
      if let port = ports[view] { deliver { await port(text) } }
    case .token(let token):
      deliver { onToken(token) }
    case .needsTokens(let number):
      let request = TokenRequest(host: self, number: number)
      // It asks a server: what follows does not wait for it.
      deliver { Task { await onNeedsTokens(request) } }
    case .log(let line):
      deliver { onLog(line) }
    case .released:
      isReleased = true
      taken.remove(storageName)
      for continuation in closing { continuation.resume() }
      closing = []
    case .settled(let change, let error):
      for one in waiting where one.change <= change {
        if let error = error {
          one.continuation.resume(throwing: TesseraError.storage(error))
        } else {
          one.continuation.resume()
        }
      }
      waiting.removeAll { $0.change <= change }
    }
  }

  private func deliver(_ delivery: @escaping Delivery) {
    deliveries.yield(delivery)
  }

  /// Make a change, and wait until it is stored. Returns its number.
  private func stored(_ start: (Machine) -> Int) async throws -> Int {
    if isClosed { throw TesseraError.closed }
    let change = enter(start)
    if change > 0 {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        waiting.append((change, continuation))
      }
    }
    return change
  }
}

/// For the log. The description of another error might quote what is stored.
private func nameOf(_ error: any Error) -> String {
  #if canImport(Security)
    if error is KeychainError { return "\(error)" }
  #endif
  return "\(type(of: error))"
}

/// Carries out what the machine asks for, and keeps what it says. Used in the actor alone.
final class Around: Effects {
  enum Said {
    case send(Int, String)
    case token(String?)
    case needsTokens(Int)
    case log(String)
    case settled(Int, String?)
    case released
  }

  var said: [Said] = []
  var requests: [Int: RefreshRequest] = [:]
  private weak var host: TesseraHost?
  private let storage: any TesseraStorage
  private let url: String
  private var timer: Task<Void, Never>?

  init(host: TesseraHost, storage: any TesseraStorage, url: String) {
    self.host = host
    self.storage = storage
    self.url = url
  }

  deinit {
    timer?.cancel()
  }

  func wall() -> Int { Int(Date().timeIntervalSince1970 * 1000) }

  func uptime() -> Int { Int(ProcessInfo.processInfo.systemUptime * 1000) }

  func wakeIn(_ ms: Int?) {
    timer?.cancel()
    timer = nil
    guard let ms = ms, let host = host else { return }
    // To wake up too early is harmless.
    let nanoseconds = UInt64(min(ms, 86_400_000)) * 1_000_000
    timer = Task { [weak host] in
      try? await Task.sleep(nanoseconds: nanoseconds)
      if !Task.isCancelled { await host?.wake() }
    }
  }

  func read() {
    let (host, storage) = (self.host, self.storage)
    Task {
      do {
        let text = try await storage.read()
        await host?.readEnded(text, nil)
      } catch {
        await host?.readEnded(nil, nameOf(error))
      }
    }
  }

  func write(_ id: Int, _ text: String) {
    let (host, storage) = (self.host, self.storage)
    Task {
      do {
        try await storage.write(text)
        await host?.writeEnded(id, nil)
      } catch {
        await host?.writeEnded(id, nameOf(error))
      }
    }
  }

  func refresh(_ id: Int, _ set: TokenSet) {
    let host = self.host
    let request = RefreshRequest(key: set.key ?? Data()) { outcome in
      Task { await host?.refreshEnded(id, outcome) }
    }
    requests[id] = request
    request.start(baseUrl: url, refreshToken: set.refresh_token)
  }

  func cancel(_ id: Int) {
    requests[id]?.cancel()
    requests[id] = nil
  }

  func send(_ view: Int, _ text: String) { said.append(.send(view, text)) }
  func settled(_ change: Int, _ error: String?) { said.append(.settled(change, error)) }
  func released() { said.append(.released) }
  func token(_ advertisingToken: String?) { said.append(.token(advertisingToken)) }
  func needsTokens(_ request: Int) { said.append(.needsTokens(request)) }
  func log(_ line: String) { said.append(.log(line)) }
}
