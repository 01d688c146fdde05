#if canImport(WebKit)
  // The part that needs WebKit. Not compiled on Linux.

  import Foundation
  import WebKit

  /// Connects webviews with a host. Keep it as long as the host; it holds no view.
  @MainActor
  public final class TesseraWebViews: NSObject, WKScriptMessageHandler {
    /// How many views there were, also of other hosts.
    private static var count = 0

    private let host: TesseraHost
    private let channel: String
    /// The attached views and their numbers. An address may later be another view's.
    private let views = NSMapTable<WKWebView, NSNumber>.weakToStrongObjects()
    /// What the host is told, in order.
    private let deliveries: AsyncStream<TesseraHost.Delivery>.Continuation

    /// - Parameter channel: the option `channel` of the page.
    public init(host: TesseraHost, channel: String = "tesseraHost") {
      self.host = host
      self.channel = channel
      let (stream, continuation) = AsyncStream.makeStream(of: TesseraHost.Delivery.self)
      deliveries = continuation
      super.init()
      Task {
        for await deliver in stream { await deliver() }
      }
    }

    /// Otherwise the task that reads the stream would never end.
    deinit {
      deliveries.finish()
    }

    /// Add the bridge to a webview, before it loads a page. Twice is harmless.
    public func attach(_ webView: WKWebView) {
      if views.object(forKey: webView) != nil { return }
      TesseraWebViews.count += 1
      views.setObject(NSNumber(value: TesseraWebViews.count), forKey: webView)
      let controller = webView.configuration.userContentController
      // Webviews of one configuration have one controller, which fails if a name is added twice.
      controller.removeScriptMessageHandler(forName: channel)
      controller.add(self, name: channel)
    }

    /// Remove the bridge, before the webview is removed. Others of its configuration keep theirs.
    public func detach(_ webView: WKWebView) {
      guard let view = views.object(forKey: webView)?.intValue else { return }
      views.removeObject(forKey: webView)
      let controller = webView.configuration.userContentController
      let others = views.keyEnumerator().allObjects
      let isShared = others.contains { ($0 as? WKWebView)?.configuration.userContentController === controller }
      if !isShared { controller.removeScriptMessageHandler(forName: channel) }
      let host = self.host
      // After its messages that have arrived: one that came later would bring the page back.
      deliveries.yield({ await host.left(view) })
    }

    public func userContentController(_ controller: WKUserContentController, didReceive message: WKScriptMessage) {
      let host = self.host
      guard let webView = message.webView, let view = views.object(forKey: webView)?.intValue, message.frameInfo.isMainFrame,
        host.origins.contains(originOf(message.frameInfo.securityOrigin)), let text = message.body as? String
      else { return }
      let port: TesseraHost.Port = { [weak self, weak webView] text in
        await self?.send(text, to: webView)
      }
      deliveries.yield({ await host.received(view, text, port) })
    }

    /// Write an origin as browsers do. The port of a default one is 0.
    private func originOf(_ origin: WKSecurityOrigin) -> String {
      let port = origin.port == 0 ? "" : ":\(origin.port)"
      return "\(origin.protocol)://\(origin.host)\(port)"
    }

    private func send(_ text: String, to webView: WKWebView?) {
      guard let webView = webView, views.object(forKey: webView) != nil else { return }
      // Any other site that the webview shows by now must not receive the set. A site cannot change what `location.origin` returns.
      let isOwnPage = host.origins.map { "location.origin === \(encoded($0))" }.joined(separator: " || ")
      webView.evaluateJavaScript("if (\(isOwnPage)) window.postMessage(\(encoded(text)), '/')", completionHandler: nil)
    }
  }
#endif
