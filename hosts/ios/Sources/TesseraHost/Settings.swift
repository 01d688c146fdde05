// The settings of a host, checked when it is made.

import Foundation

/// Schemes whose pages have no origin of their own.
private let withoutOrigin = ["file", "data", "blob", "javascript", "about"]

private func consists(_ text: String, of characters: String) -> Bool {
  !text.isEmpty && text.allSatisfy { characters.contains($0) }
}

private func isPermitted(_ scheme: String, _ host: String, _ allowInsecure: Bool) -> Bool {
  scheme != "http" || allowInsecure || host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
    || (host.hasPrefix("127.") && consists(host, of: "0123456789."))
}

/// The origin of an address as a browser writes it, and the path; nil if it is none that is permitted.
private func partsOf(_ address: String, _ allowInsecure: Bool) -> (origin: String, path: String)? {
  let letters = "abcdefghijklmnopqrstuvwxyz"
  let digits = "0123456789"
  let pieces = address.trimmingCharacters(in: .whitespaces).components(separatedBy: "://")
  if pieces.count != 2 { return nil }
  let scheme = pieces[0].lowercased()
  let end = pieces[1].firstIndex(of: "/") ?? pieces[1].endIndex
  let path = String(pieces[1][end...])
  var host = pieces[1][..<end].lowercased()
  var port = ""
  if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") {
    port = String(host[host.index(after: colon)...])
    host = String(host[..<colon])
    guard consists(port, of: digits), let number = Int(port), number <= 65_535 else { return nil }
    port = (scheme == "https" && number == 443) || (scheme == "http" && number == 80) ? "" : ":\(number)"
  }
  let isName = consists(host, of: letters + digits + ".-_")
  let isAddress = host.hasPrefix("[") && host.hasSuffix("]") && consists(host, of: "abcdef" + digits + "[]:.")
  guard consists(scheme, of: letters + digits + "+.-"), isName || isAddress, isPermitted(scheme, host, allowInsecure),
    !path.contains(where: { "?#\\ ".contains($0) })
  else { return nil }
  return ("\(scheme)://\(host)\(port)", path)
}

func parseBaseUrl(_ address: String, allowInsecure: Bool) throws -> String {
  guard let parts = partsOf(address, allowInsecure), parts.origin.hasPrefix("https:") || parts.origin.hasPrefix("http:") else {
    throw TesseraError.setting("baseUrl: expected an absolute https URL (http: for localhost, or with allowInsecure)")
  }
  var url = parts.origin + parts.path
  while url.hasSuffix("/") { url.removeLast() }
  return url
}

func parseOrigins(_ addresses: [String], allowInsecure: Bool) throws -> [String] {
  if addresses.isEmpty { throw TesseraError.setting("origins: expected at least one origin") }
  return try addresses.map { address in
    guard let parts = partsOf(address, allowInsecure), parts.path.count <= 1,
      !withoutOrigin.contains(where: { parts.origin.hasPrefix("\($0):") })
    else {
      throw TesseraError.setting("origins: expected an origin such as https://www.publisher.example, got \"\(address)\"")
    }
    return parts.origin
  }
}
