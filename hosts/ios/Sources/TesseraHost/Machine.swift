// The rules of a host, without its surroundings. Every method is called in one place at a time. It first changes the state, then tells the
// pages, and tells the app when the state is stored. src/react-native of the repository has the same machine; hosts/contract/ describes both.

import Foundation

private let lateMs = 10_000
private let timeoutMs = 60_000
private let firstPauseMs = 5_000
private let maxPauseMs = 300_000
private let minPauseMs = 30_000
private let dueOnArrivalMs = 60_000
private let dayMs = 86_400_000
private let never = Int.max
private let maxLength = 65_536
/// How far a page's `gen` may be ahead.
private let maxSteps = 1_000
/// The pauses after answers that say neither yes nor no; the answer after the last one ends the set.
private let refusedPausesMs = [30_000, 120_000, 600_000]

private func pauseMs(_ failures: Int) -> Int {
  min(firstPauseMs << min(failures, 10), maxPauseMs)
}

final class Machine {
  private struct Page {
    /// It has sent `hello` to this host.
    var hasGreeted = false
    /// It had lost the set, and has been handed it once more.
    var isHandedBack = false
  }

  private let owner: TesseraOwner
  private let effects: any Effects
  private var state = State()
  private var pages: [Int: Page] = [:]
  private var isActive = true
  private var isClosed = false
  private var clockMs = 0
  private var uptimeMs: Int
  private var lastToken: String?
  private var isAskDue = false
  /// How many requests for tokens there were, and how many of them no answer counts for any more.
  private var requests = 0
  private var answered = 0

  /// False until the storage has been read, or the app has said who is signed in.
  private var isKnown = false
  private var isReading = false
  private var readFailures = 0
  /// When a read is late or, between two reads, when the next one starts.
  private var readAt = 0
  /// A write is running, and is not late.
  private var isWriting = false
  private var isLateAt = 0
  /// The number of the last change, and of the last one that was written, which is the number of the write.
  private var changes = 0
  private var written = 0
  /// The storage has refused the last state.
  private var isUnsaved = false
  /// How many writes have not ended, also late ones.
  private var running = 0

  /// The service's clock minus this device's, ms; 0 within a minute.
  private var offsetMs = 0
  /// The service no longer accepts the set.
  private var isRefused = false
  private var refreshing: Int?
  private var refreshes = 0
  private var endsAt = 0
  private var failures = 0
  private var refusals = 0
  /// No refresh starts before these instants. `resume` ends only the pause after a failure, not one for which the service asks.
  private var retryAt = 0
  private var notBefore = 0

  init(owner: TesseraOwner, effects: any Effects) {
    self.owner = owner
    self.effects = effects
    uptimeMs = effects.uptime()
  }

  func start() {
    read()
    follow()
  }

  var advertisingToken: String? {
    guard let told = told, clock() + offsetMs < told.expiresAt else { return nil }
    return told.token
  }

  // MARK: The app

  /// As all changes, it returns its number.
  func changed(_ answer: Answer) -> Int {
    defer { follow() }
    return adopt(answer, state.gen + 1)
  }

  /// Returns 0 if the request no longer counts.
  func renew(_ request: Int, _ answer: Answer) -> Int {
    defer { follow() }
    guard request > answered else {
      effects.log("renew: late, nothing has changed")
      return 0
    }
    if case .set = answer { return adopt(answer, state.gen) }
    return adopt(answer, state.gen + 1)
  }

  func resume() {
    isActive = true
    isAskDue = true
    read()
    retryWrite()
    retryAt = 0
    follow()
  }

  func pause() {
    isActive = false
    retryWrite()
    follow()
  }

  /// A write that is running still ends.
  func close() {
    if isClosed { return }
    isKnown = true
    isClosed = true
    resetRefresh()
    answered = requests
    pages = [:]
    release()
    follow()
  }

  func left(_ view: Int) {
    pages[view] = nil
  }

  // MARK: What has ended

  func wake() {
    let at = clock()
    if isWriting && at >= isLateAt { endWrite("late") }
    if !isKnown && at >= readAt {
      if isReading { readFailed("late") } else if isActive { read() }
    }
    if let id = refreshing, at >= endsAt {
      effects.cancel(id)
      _ = refreshCounts(id, Outcome(kind: .failed, why: "timeout"))
    }
    follow()
  }

  /// Also of a read that was late.
  func readEnded(_ text: String?, _ error: String?) {
    if !isKnown {
      if let error = error {
        readFailed(error)
      } else {
        isKnown = true
        known(State.parse(text))
      }
    }
    follow()
  }

  func writeEnded(_ id: Int, _ error: String?) {
    running -= 1
    if isWriting && id == written {
      endWrite(error)
    } else if error == nil {
      // It was late: it may have replaced a newer state.
      if id == written { isUnsaved = false } else { _ = save() }
    }
    release()
    follow()
  }

  func refreshEnded(_ id: Int, _ outcome: Outcome) {
    defer { follow() }
    if !refreshCounts(id, outcome) { return }
    if outcome.kind == .optout { _ = adopt(.optedOut, state.gen + 1) }
    if let set = outcome.set {
      _ = adopt(.set(set), state.gen)
      arrived(set)
    }
    if !isRefused { return }
    // A user who has opted out, and whose set has ended, is nobody who needs another.
    if state.user == .optedOut { _ = change(State(gen: state.gen, user: .optedOut)) }
    isAskDue = true
  }

  // MARK: Messages

  /// Read a message of a page, and answer it.
  func received(_ view: Int, _ text: String) {
    defer { follow() }
    let json = Data(text.utf8)
    guard !isClosed, json.count <= maxLength, let envelope = try? JSONDecoder().decode(Envelope.self, from: json),
      envelope.ns == "tessera", envelope.kind == "req" || envelope.kind == "evt"
    else { return }
    let isRequest = envelope.kind == "req"
    if envelope.v != 1 {
      if isRequest { respond(view, envelope, .none, "version") }
      return
    }
    guard let message = try? JSONDecoder().decode(Received.self, from: json),
      message.gen >= 0, message.gen <= State.maxGen, message.gen <= state.gen + maxSteps
    else { return }
    var told: Told?
    if let token = message.body?.advertisingToken {
      guard !token.isEmpty, let at = message.body?.expiresAt, abs(at) < 1e15 else { return }
      told = Told(token: token, expiresAt: Int(at))
    }
    let phase = message.body?.phase
    if envelope.type == "changed" && phase == nil { return }
    if envelope.type == "hello" { pages[view] = Page(hasGreeted: true) }
    if pages[view] == nil { pages[view] = Page() }
    effects.log("page: \(envelope.kind) \(envelope.type.prefix(20)), gen \(message.gen)")
    if envelope.type == "changed" { pageChanged(view, message.gen, phase, told) }
    let isGet = envelope.type == "get"
    if isRequest && !(isGet && isWaiting) { respond(view, envelope, isGet ? body : .none, nil) }
  }

  private func pageChanged(_ view: Int, _ gen: Int, _ phase: String?, _ told: Told?) {
    let by: User = told != nil ? .signedIn : phase == "optedOut" ? .optedOut : .signedOut
    if gen < state.gen {
      // The page has not yet received what the app has done, or has another page's user from their storage, and not the number.
      if let token = told?.token, token == state.told?.token { greet(view) }
    } else if !isKnown {
      // Only what the page has done since it has connected: `gen` counts from there.
      if gen > state.gen && pages[view]?.hasGreeted == true { state = State(gen: gen, user: by, told: told) }
    } else if gen > state.gen {
      // The set belongs to the user before.
      _ = change(State(gen: gen, user: by, told: told))
      if told == nil { tellAll(except: view) }
    } else if state.user == .signedOut || state.user == .optedOut {
      // It was not open then.
      if told != nil { tell(view) }
    } else if phase == "optedOut" {
      // The page has learned of it without the app. If the app owns a set, the service is asked whether it still accepts it.
      _ = change(State(gen: gen, user: .optedOut, set: owner == .app ? state.set : nil))
    } else if told != nil {
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      if owner == .page || isWithoutSet { _ = change(State(gen: gen, user: .signedIn, set: state.set, told: told)) }
    } else if phase == "empty" && owner == .page && state.set != nil && pages[view]?.isHandedBack == false {
      // The page has lost its storage. The set that the app signed in with may still be refreshed.
      pages[view]?.isHandedBack = true
      tell(view)
    }
  }

  /// The body of a `set`; none if nobody is signed in.
  private var body: Body {
    if state.user == .optedOut { return .optedOut }
    if let set = state.set { return .set(set) }
    return .none
  }

  private func tell(_ view: Int) {
    let body = self.body
    var type = "set"
    if case .none = body { type = "clear" }
    send(view, Sent(gen: state.gen, kind: "evt", type: type, body: body))
  }

  private func tellAll(except: Int? = nil) {
    for view in pages.keys.sorted() where view != except { tell(view) }
  }

  /// Tell a page how many sign-ins and logouts there were: it counts its next one from there.
  private func greet(_ view: Int) {
    send(view, Sent(gen: state.gen, kind: "req", type: "hello", id: "host-\(state.gen)", body: .none))
  }

  private func respond(_ view: Int, _ request: Envelope, _ body: Body, _ error: String?) {
    send(view, Sent(gen: state.gen, kind: "res", type: request.type, id: request.id, body: body, error: error))
  }

  private func send(_ view: Int, _ message: Sent) {
    effects.log("app: \(message.kind) \(message.type.prefix(20)), gen \(message.gen)")
    effects.send(view, encoded(message))
  }

  // MARK: The identity

  private var told: Told? {
    if state.user == .optedOut { return nil }
    if owner == .app, let set = state.set { return set.told }
    return state.told
  }

  /// A user is signed in, and the app has no set of that user.
  private var isWithoutSet: Bool { state.user == .signedIn && state.set == nil }

  /// A `get` has no answer until there is one that does not log the user out by mistake. Pages repeat it, and are told.
  private var isWaiting: Bool { !isKnown || isWithoutSet || (refreshing != nil && advertisingToken == nil) }

  private func known(_ stored: State) {
    // What a page has done meanwhile comes after what was stored.
    let meanwhile = state
    let isChanged = meanwhile.gen > 0
    state = isChanged ? State(gen: stored.gen + meanwhile.gen, user: meanwhile.user, told: meanwhile.told) : stored
    if isChanged { _ = save() }
    isAskDue = true
    let isTold = owner == .app ? !isWaiting : isChanged && meanwhile.told == nil
    for view in pages.keys.sorted() where pages[view]?.hasGreeted == true {
      greet(view)
      if isTold { tell(view) }
    }
  }

  private func adopt(_ answer: Answer, _ gen: Int) -> Int {
    let number: Int
    switch answer {
    case .set(let set): number = change(State(gen: gen, user: .signedIn, set: set, told: set.told))
    case .optedOut: number = change(State(gen: gen, user: .optedOut))
    case .signedOut: number = change(State(gen: gen, user: .signedOut))
    }
    tellAll()
    return number
  }

  private func change(_ next: State) -> Int {
    let former = state
    state = next
    // At one `gen`, two pages may have signed in two users.
    let isSame = next.gen == former.gen && next.user == former.user && next.told?.token == former.told?.token
    if !isSame || next.set != former.set {
      answered = requests
      resetRefresh()
      isAskDue = true
    }
    return save()
  }

  /// What follows from a change: a refresh that is due, what the app is told, and the timer.
  private func follow() {
    if isActive, let set = state.set, refreshDueAt() <= clock() {
      endsAt = clock() + timeoutMs
      refreshes += 1
      refreshing = refreshes
      effects.refresh(refreshes, set)
    }
    notify()
    schedule()
  }

  private func notify() {
    if isClosed || isWriting { return }
    let isDue = isAskDue && owner == .app && isKnown && (isWithoutSet || isRefused)
    isAskDue = false
    if isDue { requests += 1 }
    let request = isDue ? requests : 0
    let token = advertisingToken
    if token != lastToken {
      lastToken = token
      effects.token(token)
    }
    // The app may have answered otherwise in the meantime.
    if request > answered { effects.needsTokens(request) }
  }

  private func schedule() {
    let isOpen = isActive && !isClosed
    var next = isWriting ? isLateAt : never
    if !isKnown && (isOpen || isReading) { next = min(next, readAt) }
    if refreshing != nil { next = min(next, endsAt) }
    if isOpen { next = min(next, refreshDueAt()) }
    if isOpen, advertisingToken != nil, let told = told { next = min(next, told.expiresAt - offsetMs) }
    effects.wakeIn(next == never ? nil : max(0, next - clock()))
  }

  /// The greater of the wall clock and the uptime since the start: it never runs back, and runs on during sleep.
  private func clock() -> Int {
    let uptime = effects.uptime()
    clockMs = max(effects.wall(), clockMs + uptime - uptimeMs)
    uptimeMs = uptime
    return clockMs
  }

  // MARK: The storage

  private func read() {
    if isKnown || isReading { return }
    readAt = clock() + lateMs
    isReading = true
    effects.read()
  }

  private func readFailed(_ error: String) {
    effects.log("storage, read: \(error)")
    isReading = false
    readAt = clock() + pauseMs(readFailures)
    readFailures += 1
  }

  /// A write that has not ended could replace what the next host writes.
  private func release() {
    if isClosed && running == 0 { effects.released() }
  }

  /// Write the state, as soon as no other write is running. Returns the number of the change.
  private func save() -> Int {
    isKnown = true
    changes += 1
    write()
    return changes
  }

  private func retryWrite() {
    if isUnsaved && !isWriting && !isClosed { _ = save() }
  }

  private func write() {
    if isWriting || written == changes { return }
    isWriting = true
    running += 1
    written = changes
    isLateAt = clock() + lateMs
    effects.write(written, state.text)
  }

  private func endWrite(_ error: String?) {
    if let error = error { effects.log("storage, write: \(error)") }
    isWriting = false
    isUnsaved = error != nil
    let ended = written
    write()
    effects.settled(ended, error)
  }

  // MARK: Refreshing

  /// The set or its user has changed: what is running belongs to the former one.
  private func resetRefresh() {
    if let id = refreshing { effects.cancel(id) }
    refreshing = nil
    isRefused = false
    failures = 0
    refusals = 0
    retryAt = 0
    notBefore = 0
  }

  private func refreshDueAt() -> Int {
    guard owner == .app, isKnown, !isClosed, let set = state.set, refreshing == nil, !isRefused else { return never }
    return max(state.user == .optedOut ? 0 : set.refresh_from - offsetMs, retryAt, notBefore)
  }

  /// Take the end of a refresh into account. Returns whether it counts.
  private func refreshCounts(_ id: Int, _ outcome: Outcome) -> Bool {
    if id != refreshing { return false }
    refreshing = nil
    effects.log("refresh: \(outcome.kind.rawValue) \(outcome.why)")
    if let date = outcome.date { offsetMs = abs(date - clock()) < 60_000 ? 0 : date - clock() }
    if outcome.kind == .success || outcome.kind == .optout { return true }
    var pause = 0
    isRefused = outcome.kind == .ended
    if outcome.kind == .failed {
      retryAt = clock() + pauseMs(failures)
      failures += 1
    } else if outcome.kind == .refused {
      isRefused = refusals >= refusedPausesMs.count
      if !isRefused { pause = refusedPausesMs[refusals] }
      refusals += 1
    }
    notBefore = clock() + max(pause, min(outcome.retryAfterMs, dayMs))
    return true
  }

  /// A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody.
  private func arrived(_ set: TokenSet) {
    let now = clock() + offsetMs
    if set.refresh_from - now > min(dueOnArrivalMs, (set.identity_expires - set.refresh_from) / 20) { return }
    notBefore = max((max(set.refresh_from, now) + set.identity_expires) / 2, now + minPauseMs) - offsetMs
  }
}
