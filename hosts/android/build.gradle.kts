plugins {
  id("com.android.library") version "8.13.0"
  id("org.jetbrains.kotlin.android") version "2.2.20"
  `maven-publish`
  signing
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
  publishing {
    singleVariant("release") {
      withSourcesJar()
      withJavadocJar()
    }
  }
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
        licenses {
          license {
            name = "Apache-2.0"
            url = "https://www.apache.org/licenses/LICENSE-2.0.txt"
          }
        }
        developers {
          developer {
            id = "tessera-id"
            name = "The Tessera maintainers"
            url = "https://github.com/tessera-id"
          }
        }
        scm {
          url = "https://github.com/tessera-id/tessera"
          connection = "scm:git:https://github.com/tessera-id/tessera.git"
          developerConnection = "scm:git:ssh://git@github.com/tessera-id/tessera.git"
        }
      }
    }
  }
}

// Maven Central accepts only signed files: `ORG_GRADLE_PROJECT_signingKey` has the key, armoured.
signing {
  useInMemoryPgpKeys(findProperty("signingKey") as String?, findProperty("signingPassword") as String?)
  isRequired = hasProperty("signingKey")
  sign(publishing.publications["release"])
}
