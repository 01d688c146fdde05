plugins {
  id("com.android.library") version "8.13.0"
  id("org.jetbrains.kotlin.android") version "2.2.20"
  `maven-publish`
}

group = "id.tessera"
version = "0.1.0"

android {
  namespace = "id.tessera.host"
  compileSdk = 35
  defaultConfig {
    minSdk = 23
    consumerProguardFiles("consumer-rules.pro")
  }
  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_17
    targetCompatibility = JavaVersion.VERSION_17
  }
  publishing { singleVariant("release") { withSourcesJar() } }
}

kotlin {
  compilerOptions {
    allWarningsAsErrors = true
    jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_17
  }
}

dependencies { implementation("androidx.webkit:webkit:1.4.0") }

publishing {
  publications {
    register<MavenPublication>("release") {
      artifactId = "tessera-host"
      afterEvaluate { from(components["release"]) }
      pom {
        name = "Tessera host"
        description = "The app's side of a webview that shares one identity token with its page."
        url = "https://github.com/tessera-id/tessera"
        licenses { license { name = "Apache-2.0" } }
        scm { url = "https://github.com/tessera-id/tessera" }
      }
    }
  }
}
