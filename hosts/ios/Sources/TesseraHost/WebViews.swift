#if canImport(WebKit)
  // The part that needs WebKit. Not compiled on Linux.

  import Foundation
  import WebKit

  /// Connects webviews with a host. Keep it as long as the host; it holds no view.
  @MainActor
  public final class TesseraWebViews: NSObject, WKScriptMessageHandler {
    private struct Message: Sendable {
      let view: Int
      let text: String
      let port: TesseraHost.Port
    }

    private let host: TesseraHost
    private let channel: String
    private let views = NSHashTable<WKWebView>.weakObjects()
    /// In the order in which they have arrived.
    private let messages: AsyncStream<Message>.Continuation

    /// - Parameter channel: the option `channel` of the page.
    public init(host: TesseraHost, channel: String = "tesseraHost") {
      self.host = host
      self.channel = channel
      let (stream, continuation) = AsyncStream.makeStream(of: Message.self)
      messages = continuation
      super.init()
      Task {
        for await message in stream { await host.received(message.view, message.text, message.port) }
      }
    }

    /// Add the bridge to a webview, before it loads a page. Twice is harmless.
    public func attach(_ webView: WKWebView) {
      if views.contains(webView) { return }
      views.add(webView)
      let controller = webView.configuration.userContentController
      // Webviews of one configuration have one controller, which fails if a name is added twice.
      controller.removeScriptMessageHandler(forName: channel)
      controller.add(self, name: channel)
    }

    /// Remove the bridge, before the webview is removed. Others of its configuration keep theirs.
    public func detach(_ webView: WKWebView) {
      if !views.contains(webView) { return }
      views.remove(webView)
      let controller = webView.configuration.userContentController
      let isShared = views.allObjects.contains { $0.configuration.userContentController === controller }
      if !isShared { controller.removeScriptMessageHandler(forName: channel) }
      let (host, view) = (self.host, numberOf(webView))
      Task { await host.left(view) }
    }

    public func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage) {
      guard let webView = message.webView, views.contains(webView), message.frameInfo.isMainFrame,
        host.origins.contains(originOf(message.frameInfo.securityOrigin)), let text = message.body as? String
      else { return }
      let port: TesseraHost.Port = { [weak self, weak webView] text in
        await self?.send(text, to: webView)
      }
      messages.yield(Message(view: numberOf(webView), text: text, port: port))
    }

    private func numberOf(_ webView: WKWebView) -> Int { ObjectIdentifier(webView).hashValue }

    /// Write an origin as browsers do. The port of a default one is 0.
    private func originOf(_ origin: WKSecurityOrigin) -> String {
      let port = origin.port == 0 ? "" : ":\(origin.port)"
      return "\(origin.protocol)://\(origin.host)\(port)"
    }

    private func send(_ text: String, to webView: WKWebView?) {
      guard let webView = webView, views.contains(webView) else { return }
      // Any other site that the webview shows by now must not receive the set. A site cannot change what `location.origin` returns.
      let isOwnPage = host.origins.map { "location.origin === \(encoded($0))" }.joined(separator: " || ")
      webView.evaluateJavaScript("if (\(isOwnPage)) window.postMessage(\(encoded(text)), '/')", completionHandler: nil)
    }
  }
#endif
