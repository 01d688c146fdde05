// What a host stores, what it exchanges with pages, and what its machine has done around it.

import Foundation

/// Who refreshes the identity. With `app`, the page has `owner: 'host'` and `refresh: 'off'`; with `page`, the defaults.
public enum TesseraOwner: Sendable {
  case app
  case page
}

/// Why a call has failed. No case quotes the input.
public enum TesseraError: Error, Equatable {
  /// `baseUrl` or `origins`: what was expected.
  case setting(String)
  /// Another host of this process has the storage.
  case storageTaken
  /// The answer is not the JSON of a `generate` answer, its body or an opt-out: nothing has changed.
  case answer
  /// The storage has refused the change, or has not confirmed it within 10 s. It is tried again at the next change, `resume` and `pause`.
  case storage(String)
  case closed
}

/// Beyond the year 9999, epoch ms.
private let latest = 1_000_000_000_000_000

/// An advertising token and its expiry, epoch ms.
struct Told: Codable, Sendable {
  let token: String
  let expiresAt: Int

  var isValid: Bool { !token.isEmpty && (-latest...latest).contains(expiresAt) }
}

/// The body of a `generate` or `refresh` answer.
struct TokenSet: Codable, Equatable, Sendable {
  /// 1973; a time in seconds is before it.
  private static let earliest = 100_000_000_000

  let advertising_token: String
  let refresh_token: String
  let refresh_response_key: String
  let refresh_from: Int
  let identity_expires: Int
  let refresh_expires: Int

  var told: Told { Told(token: advertising_token, expiresAt: identity_expires) }
  var key: Data? { decodeBase64(refresh_response_key) }

  var isValid: Bool {
    !advertising_token.isEmpty && !refresh_token.isEmpty && key?.count == 32 && refresh_from >= TokenSet.earliest
      && refresh_from <= identity_expires && identity_expires <= refresh_expires && refresh_expires <= latest
  }
}

/// As in the other languages, white space and a missing `=` do no harm.
func decodeBase64(_ text: String) -> Data? {
  let dense = text.filter { !$0.isWhitespace }
  return Data(base64Encoded: dense + String(repeating: "=", count: (4 - dense.utf8.count % 4) % 4))
}

/// What an answer says about a user.
enum Answer: Sendable {
  case set(TokenSet)
  case optedOut
  case signedOut

  private struct Status: Decodable {
    let status: String?
  }

  private struct Success: Decodable {
    let body: TokenSet
  }

  /// `{"status":"success","body":...}`, the body alone, or `{"status":"optout"}`.
  init(_ json: Data) throws {
    guard let answer = try? JSONDecoder().decode(Status.self, from: json) else { throw TesseraError.answer }
    if answer.status == "optout" {
      self = .optedOut
      return
    }
    var set: TokenSet?
    if answer.status == "success" { set = try? JSONDecoder().decode(Success.self, from: json).body }
    if answer.status == nil { set = try? JSONDecoder().decode(TokenSet.self, from: json) }
    guard let found = set, found.isValid else { throw TesseraError.answer }
    self = .set(found)
  }
}

enum User: String, Codable, Sendable {
  case unknown, signedIn, signedOut, optedOut
}

struct State: Codable, Sendable {
  /// The greatest integer that JavaScript has.
  static let maxGen = 9_007_199_254_740_991

  /// The number of sign-ins and logouts.
  var gen = 0
  var user = User.unknown
  /// What the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse.
  var set: TokenSet?
  /// The last token that the app or a page has had.
  var told: Told?

  /// Read what `text` has written. Anything else is no state.
  static func parse(_ text: String?) -> State {
    guard let text = text, let stored = try? JSONDecoder().decode(State.self, from: Data(text.utf8)),
      stored.gen >= 0, stored.gen <= maxGen, stored.set?.isValid ?? true, stored.told?.isValid ?? true
    else { return State() }
    return stored
  }

  var text: String { encoded(self) }
}

/// JSON of a value that can always be encoded.
func encoded<T: Encodable>(_ value: T) -> String {
  guard let json = try? JSONEncoder().encode(value) else { return "" }
  return String(decoding: json, as: UTF8.self)
}

/// The members of a message that every version has.
struct Envelope: Decodable {
  let v: Int
  let ns: String
  let kind: String
  let type: String
  let id: String?
}

/// The other members of a message of a page.
struct Received: Decodable {
  struct Body: Decodable {
    let phase: String?
    let advertisingToken: String?
    let expiresAt: Double?
  }

  let gen: Int
  let body: Body?
}

/// The body of a message to a page.
enum Body: Encodable {
  case none
  case optedOut
  case set(TokenSet)

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .none: try container.encodeNil()
    case .optedOut: try container.encode(["status": "optout"])
    case .set(let set): try container.encode(set)
    }
  }
}

/// A message to a page.
struct Sent: Encodable {
  let v = 1
  let ns = "tessera"
  let gen: Int
  let kind: String
  let type: String
  var id: String?
  let body: Body
  var error: String?
}

/// How a refresh has ended.
struct Outcome: Sendable {
  /// `ended`: the service has ended the set. `refused`: it has not understood the request. `failed`: it may answer later.
  enum Kind: String, Sendable {
    case success, optout, ended, refused, failed
  }

  var kind: Kind
  /// For the log.
  var why = ""
  var set: TokenSet?
  /// The service's clock, epoch ms.
  var date: Int?
  var retryAfterMs = 0
}

/// What the machine has done around it. The results arrive in its methods, with the number that was passed here.
protocol Effects: AnyObject {
  /// Epoch ms.
  func wall() -> Int
  /// Ms since any instant; nobody can set this clock.
  func uptime() -> Int
  /// Replace the timer that calls `wake`; nil: none.
  func wakeIn(_ ms: Int?)
  func read()
  func write(_ id: Int, _ text: String)
  func refresh(_ id: Int, _ set: TokenSet)
  func cancel(_ id: Int)
  func send(_ view: Int, _ text: String)
  /// All changes up to this number are stored, or, with an error, are not.
  func settled(_ change: Int, _ error: String?)
  /// The host is closed, and no write is running: another host may have the storage.
  func released()
  func token(_ advertisingToken: String?)
  func needsTokens(_ request: Int)
  func log(_ line: String)
}
