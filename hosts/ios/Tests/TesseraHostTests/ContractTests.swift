// Drives a machine through the cases of hosts/contract/cases.txt, as test/react-native/contract.ts of the repository does.

import Foundation
import XCTest

@testable import TesseraHost

private func milliseconds(_ text: String) -> Int {
  let units: [Character: Double] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
  guard let unit = text.last, let factor = units[unit], let count = Double(text.dropLast()) else { return 0 }
  return Int(count * factor)
}

private func short(_ token: String?) -> String {
  token?.replacingOccurrences(of: "token-", with: "") ?? "none"
}

private func joined(_ parts: [String]) -> String {
  parts.filter { !$0.isEmpty }.joined(separator: " ")
}

/// What a message to a page contains, as far as the cases mention it.
private struct Message: Decodable {
  struct Body: Decodable {
    let status: String?
    let advertising_token: String?
  }

  let kind: String
  let type: String
  let gen: Int
  let error: String?
  let body: Body?
}

private final class World: Effects {
  private let owner: TesseraOwner
  private var sets: [String: TokenSet] = [:]
  private var pending: [Int] = []
  private var trueMs = 1_894_708_800_000
  private var offMs = 0
  private var uptimeMs = 0
  private var timerAt: Int?
  private var stored: String?
  private var modes = ["reads": "work", "writes": "work"]
  private var ready: [() -> Void] = []
  private var held: [() -> Void] = []
  private var said: [String] = []
  private var shown: String?
  private var reaction: String?
  private var machine: Machine?
  var lines: [String] = []

  init(owner: TesseraOwner) {
    self.owner = owner
  }

  private func make(_ name: String, due: String = "15m", expires: String = "60m") -> TokenSet {
    if let found = sets[name] { return found }
    let letter = String(name.prefix(1))
    let made = TokenSet(
      advertising_token: "token-\(name)", refresh_token: "refresh-\(name)",
      refresh_response_key: Data(String(repeating: letter, count: 32).utf8).base64EncodedString(),
      refresh_from: trueMs + milliseconds(due), identity_expires: trueMs + milliseconds(expires),
      refresh_expires: trueMs + milliseconds("30d"))
    sets[name] = made
    return made
  }

  private func answer(_ name: String) -> Answer {
    if name == "optout" { return .optedOut }
    if name == "nobody" { return .signedOut }
    return .set(make(name))
  }

  private func operate(_ mode: String, _ end: @escaping () -> Void, _ fail: @escaping () -> Void) {
    if modes[mode] == "hang" {
      held.append(end)
    } else {
      ready.append(modes[mode] == "fail" ? fail : end)
    }
  }

  // MARK: Effects

  func wall() -> Int { trueMs + offMs }

  func uptime() -> Int { uptimeMs }

  func wakeIn(_ ms: Int?) {
    timerAt = nil
    if let ms = ms { timerAt = uptimeMs + ms }
  }

  func read() {
    said.append("read")
    operate("reads", { self.machine?.readEnded(self.stored, nil) }, { self.machine?.readEnded(nil, "locked") })
  }

  func write(_ id: Int, _ text: String) {
    let state = State.parse(text)
    var name = ""
    if let told = state.told { name = "(\(short(told.token)))" }
    if let set = state.set { name = short(set.advertising_token) }
    said.append("write " + joined([state.user.rawValue, name, "\(state.gen)"]))
    let end = {
      self.stored = text
      self.machine?.writeEnded(id, nil)
    }
    operate("writes", end, { self.machine?.writeEnded(id, "full") })
  }

  func refresh(_ id: Int, _ set: TokenSet) {
    said.append("ask \(short(set.advertising_token))")
    pending.append(id)
  }

  func cancel(_ id: Int) {
    said.append("cancel")
  }

  func send(_ view: Int, _ text: String) {
    guard let message = try? JSONDecoder().decode(Message.self, from: Data(text.utf8)) else {
      said.append("no message: \(text)")
      return
    }
    var more = message.body?.status ?? short(message.body?.advertising_token)
    if message.type == "hello" || message.type == "clear" { more = "" }
    if let error = message.error { more = error }
    let kind = message.kind == "evt" ? "" : message.kind
    said.append(joined(["p\(view)", kind, message.type, more, "\(message.gen)"]))
  }

  func settled(_ change: Int, _ error: String?) {
    said.append(error == nil ? "stored" : "refused")
  }

  func released() {
    said.append("free")
  }

  func token(_ advertisingToken: String?) {
    said.append("token \(short(advertisingToken))")
    if let next = reaction {
      reaction = nil
      act(next)
    }
  }

  func needsTokens(_ request: Int) {
    said.append("needs \(request)")
  }

  func log(_ line: String) {
    lines.append(line)
  }

  // MARK: Steps

  private func start() {
    ready = []
    held = []
    timerAt = nil
    shown = nil
    let made = Machine(owner: owner, effects: self)
    machine = made
    made.start()
  }

  private func answerRefresh(_ words: [String]) {
    guard words.count > 2, let number = Int(words[1]), let kind = Outcome.Kind(rawValue: words[2]) else {
      said.append("unknown answer")
      return
    }
    var outcome = Outcome(kind: kind)
    if kind == .success { outcome.set = make(words[3]) }
    if let at = words.firstIndex(of: "date") { outcome.date = trueMs + milliseconds(words[at + 1]) }
    if let at = words.firstIndex(of: "after") { outcome.retryAfterMs = milliseconds(words[at + 1]) }
    machine?.refreshEnded(pending[number - 1], outcome)
  }

  private func page(_ words: [String], _ line: String) {
    let view = Int(words[1].dropFirst()) ?? 0
    let type = words[2]
    if type == "raw" {
      let pieces = line.components(separatedBy: " raw ")
      machine?.received(view, pieces.dropFirst().joined(separator: " raw "))
      return
    }
    var body = "null"
    if type == "changed" {
      body = "{\"phase\":\"\(words[4])\"}"
      if words[4] == "token" {
        let expiresAt = trueMs + milliseconds("30m")
        body = "{\"phase\":\"fresh\",\"advertisingToken\":\"token-\(words[5])\",\"expiresAt\":\(expiresAt)}"
      }
    }
    let kind = type == "changed" ? "evt" : "req"
    machine?.received(
      view,
      "{\"v\":1,\"ns\":\"tessera\",\"kind\":\"\(kind)\",\"id\":\"1\",\"type\":\"\(type)\",\"gen\":\(words[3]),\"body\":\(body)}"
    )
  }

  private func settle() {
    while !ready.isEmpty {
      let next = ready.removeFirst()
      next()
    }
  }

  private func advance(_ span: Int) {
    let end = uptimeMs + span
    settle()
    while let at = timerAt, at <= end {
      let passed = max(0, at - uptimeMs)
      timerAt = nil
      uptimeMs += passed
      trueMs += passed
      machine?.wake()
      settle()
    }
    trueMs += end - uptimeMs
    uptimeMs = end
  }

  private func act(_ line: String) {
    let words = line.components(separatedBy: " ")
    let first = words.count > 1 ? words[1] : ""
    switch words[0] {
    case "start": start()
    case "make": _ = make(first, due: words[2], expires: words[3])
    case "signedIn": _ = machine?.changed(answer(first))
    case "signedOut": _ = machine?.changed(.signedOut)
    case "renew": _ = machine?.renew(Int(first) ?? 0, answer(words[2]))
    case "resume": machine?.resume()
    case "pause": machine?.pause()
    case "close": machine?.close()
    case "left": machine?.left(Int(first.dropFirst()) ?? 0)
    case "page": page(words, line)
    case "answer": answerRefresh(words)
    case "reads", "writes": modes[words[0]] = first
    case "storage":
      ready += held
      held = []
    case "store": stored = String(line.dropFirst("store ".count))
    case "react": reaction = first
    case "wait": advance(milliseconds(first))
    case "sleep": trueMs += milliseconds(first)
    case "clock": offMs += milliseconds(first)
    default: said.append("unknown word: \(words[0])")
    }
  }

  /// Carry out a step; returns what has happened, in order.
  func step(_ action: String) -> String {
    said = []
    act(action)
    settle()
    let token = machine?.advertisingToken
    if token != shown { said.append("shows \(short(token))") }
    shown = token
    return said.joined(separator: "; ")
  }
}

final class ContractTests: XCTestCase {
  func testEveryCase() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../contract/cases.txt").standardizedFileURL
    let text = try String(contentsOf: file, encoding: .utf8)
    var count = 0
    for paragraph in text.components(separatedBy: "\n\n") {
      let lines = paragraph.components(separatedBy: "\n").filter { !$0.isEmpty }
      guard let title = lines.first, let digit = title.first, digit.isNumber else { continue }
      count += 1
      let words = title.components(separatedBy: ":")[0]
      let world = World(owner: words.hasSuffix("page") ? .page : .app)
      for line in lines.dropFirst() {
        let pieces = line.trimmingCharacters(in: .whitespaces).components(separatedBy: " -> ")
        XCTAssertEqual(world.step(pieces[0]), pieces.count > 1 ? pieces[1] : "", "\(title): \(pieces[0])")
      }
      for line in world.lines {
        XCTAssertFalse(line.contains("token-") || line.contains("refresh-"), "the log has a token: \(line)")
      }
    }
    XCTAssertGreaterThan(count, 40)
  }
}
