// The host around the machine: its storage, its settings, and calls at once.

import Foundation
import XCTest

@testable import TesseraHost

private struct Refused: Error {}

private actor MemoryStorage: TesseraStorage {
  private(set) var text: String?
  private var isRefusing = false

  func refuse(_ isRefusing: Bool) {
    self.isRefusing = isRefusing
  }

  func read() async throws -> String? {
    if isRefusing { throw Refused() }
    return text
  }

  func write(_ text: String) async throws {
    if isRefusing { throw Refused() }
    self.text = text
  }
}

final class HostTests: XCTestCase {
  private let answer: Data = {
    let now = Int(Date().timeIntervalSince1970 * 1000)
    let set = TokenSet(
      advertising_token: "a-token", refresh_token: "a-refresh-token-of-nobody",
      refresh_response_key: Data(repeating: 107, count: 32).base64EncodedString(), refresh_from: now + 900_000,
      identity_expires: now + 3_600_000, refresh_expires: now + 86_400_000)
    return Data(encoded(set).utf8)
  }()

  private func makeHost(_ storage: MemoryStorage) throws -> TesseraHost {
    try TesseraHost(
      baseUrl: "https://operator.example", origins: ["https://www.publisher.example"], storage: storage)
  }

  func testASignInIsThereAtTheNextStartAndALogoutIsStored() async throws {
    let storage = MemoryStorage()
    let first = try makeHost(storage)
    try await first.signedIn(answer)
    await first.close()
    let second = try makeHost(storage)
    try await second.signedOut()
    let text = await storage.text
    XCTAssertEqual(State.parse(text).user, .signedOut)
    await second.close()
  }

  func testALogoutThatTheStorageRefusesThrowsAndShowsAtOnce() async throws {
    let storage = MemoryStorage()
    let host = try makeHost(storage)
    try await host.signedIn(answer)
    await storage.refuse(true)
    do {
      try await host.signedOut()
      XCTFail("expected an error")
    } catch {
      XCTAssertEqual(error as? TesseraError, .storage("Refused"))
    }
    let token = await host.advertisingToken
    XCTAssertNil(token)
    await host.close()
  }

  func testASecondHostOverOneStorageIsAnErrorUntilTheFirstIsClosed() async throws {
    let storage = MemoryStorage()
    let first = try makeHost(storage)
    XCTAssertThrowsError(try makeHost(storage)) { XCTAssertEqual($0 as? TesseraError, .storageTaken) }
    await first.close()
    do {
      try await first.signedOut()
      XCTFail("expected an error")
    } catch {
      XCTAssertEqual(error as? TesseraError, .closed)
    }
    let second = try makeHost(storage)
    await second.close()
  }

  func testCallsOfFourTasksEndInTheLastCall() async throws {
    let storage = MemoryStorage()
    let host = try makeHost(storage)
    let answer = self.answer
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<20 {
            try? await host.signedIn(answer)
            try? await host.signedOut()
            await host.resume()
          }
        }
      }
    }
    try await host.signedOut()
    let text = await storage.text
    XCTAssertEqual(State.parse(text).user, .signedOut)
    await host.close()
  }

  func testWhatIsNoAnswerThrowsAndChangesNothing() async throws {
    let host = try makeHost(MemoryStorage())
    for text in ["", "{", "null", "[]", "{}", "{\"status\":\"error\"}", "{\"status\":\"success\",\"body\":{}}"] {
      do {
        try await host.signedIn(Data(text.utf8))
        XCTFail("expected an error for \(text)")
      } catch {
        XCTAssertEqual(error as? TesseraError, .answer)
      }
    }
    await host.close()
  }

  func testOriginsAreWrittenAsABrowserDoesOrRefused() throws {
    let given = ["HTTPS://WWW.Publisher.example:443/", "http://localhost:80", "capacitor://localhost", "https://[::1]:8443"]
    let written = ["https://www.publisher.example", "http://localhost", "capacitor://localhost", "https://[::1]:8443"]
    XCTAssertEqual(try parseOrigins(given, allowInsecure: false), written)
    let wrong = [
      "*", "www.publisher.example", "https://a.example/path", "https://*.example", "https://a@b.example", "https://a.example:99999",
      "http://a.example", "http://127.a.example", "null", "file:///index.html", "",
    ]
    for address in wrong { XCTAssertThrowsError(try parseOrigins([address], allowInsecure: false), address) }
    XCTAssertThrowsError(try parseOrigins([], allowInsecure: false))
    for address in ["http://operator.example", "operator.example", "", "https://operator.example/?a=1"] {
      XCTAssertThrowsError(try parseBaseUrl(address, allowInsecure: false), address)
    }
    XCTAssertEqual(try parseBaseUrl("https://operator.example/path/", allowInsecure: false), "https://operator.example/path")
  }

  func testAnAnswerIsReadUpTo64KiB() {
    let request = RefreshRequest(key: Data()) { _ in }
    XCTAssertTrue(request.take(Data(count: 65_536)))
    XCTAssertFalse(request.take(Data(count: 1)))
  }

  func testBase64MayHaveWhiteSpaceAndNoPadding() {
    for text in ["aw", "aw==", "aw==\r\n", " a w"] { XCTAssertEqual(decodeBase64(text), Data("k".utf8), text) }
    XCTAssertEqual(decodeBase64(String(repeating: "A", count: 43))?.count, 32)
    XCTAssertNil(decodeBase64("{}"))
  }

  func testWhatAnAnswerOfTheServiceMeans() {
    let plain: (Data, Data) throws -> Data = { sealed, _ in sealed }
    func kindOf(_ status: Int, _ text: String) -> Outcome.Kind {
      outcomeOf(status: status, text: Data(text.utf8), key: Data(), open: plain).kind
    }
    XCTAssertEqual(kindOf(200, answer.base64EncodedString()), .success)
    XCTAssertEqual(kindOf(200, Data("{\"status\":\"optout\"}".utf8).base64EncodedString()), .optout)
    XCTAssertEqual(kindOf(200, Data("{\"status\":\"optout\",\"body\":{}}".utf8).base64EncodedString()), .optout)
    XCTAssertEqual(kindOf(200, "{}"), .refused)
    XCTAssertEqual(kindOf(400, "{\"status\":\"expired_token\"}"), .ended)
    XCTAssertEqual(kindOf(400, "{\"status\":\"error\"}"), .refused)
    XCTAssertEqual(kindOf(429, ""), .failed)
    XCTAssertEqual(kindOf(503, "{\"status\":\"expired_token\"}"), .failed)
    XCTAssertEqual(parseDate("Tue, 15 Jan 2030 12:00:00 GMT"), 1_894_708_800_000)
  }
}
