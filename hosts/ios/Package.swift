// swift-tools-version:6.0
import PackageDescription

let package = Package(
  name: "TesseraHost",
  platforms: [.iOS(.v14), .macOS(.v12)],
  products: [.library(name: "TesseraHost", targets: ["TesseraHost"])],
  targets: [
    .target(name: "TesseraHost"),
    .testTarget(name: "TesseraHostTests", dependencies: ["TesseraHost"]),
  ]
)
