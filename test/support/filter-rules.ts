/**
 * What public filter lists block by the name of a file, whatever its host: rules in the syntax of Adblock Plus, without options.
 * They stand for the general rules of lists such as EasyList, EasyPrivacy, EasyList Cookie and Fanboy's Annoyances, and are not a
 * copy of any. Each concerns a word that a file of this package could have in its name.
 */

/** Prebid, ad tags and identity modules. */
const ADS = `
/prebid.
/prebid-
/prebid_
/prebid/*
/prebid8.
/prebidlink/*
-prebid.
_prebid.js
.prebid-bundle.js
/dist/adsPrebid.js
/apstag.js
/gpt.js
/adfox/header-bidding.
/header-bidding.js
/headerbidding/*
/ads.
/ads-
/ads/*
/ads_
-ads.
-ads-
_ads.
.ads.js
/ad-choices-
/adserver.
/adserver/*
/adsense.
/adsbygoogle.
/adunit.
/admanager.js
/pagead/*
/adblock/*
/bidder.
/banner_
/sponsor-
/popunder.
/usersync.
/user-sync.
/uid2-sdk
/uid2SecureSignal.
/id5-api.
/ats.js
||adserver.
||doubleclick.net^
|https://ads.
`;

const TRACKERS = `
/analytics.
/analytics/*
/analytics-event-adapter.
/analytics-events-
/global-analytics.js
/tracker.
/tracking.
/track.js|
/tracking/get?
-track-inview.
-tracking-pixel.
/beacon.
/pixel.
/telemetry.
/fingerprint.
/fingerprint2.
/event-log?
/events-collector.
/eventtracker.js
/clientstat?
/cookie_ga.js
/log-reporter.js
/metrics.js
/stats.js
/counter.js
/cookie.gif?
`;

const NOTICES = `
-consent-banner.
-cookie-consent.js
-gdpr-min.
-tracking-consent.
/cdn/consent_
/cmp.bundle.js
/cmp/cmp.js
/cmp/consent-
/consent-banner-
/consent-dialog.
/consent-management.js
/consent-manager.
/consent-tracking-
/consent.min.js?
/consent_banner-
/consentcookie.js
/cookie-banner
/cookie-consent.
/cookie-notice.
/cookieconsent.
/data-consent.
/dist/gdpr-
/eprivacy.
/gdpr-consent.
/gdpr.js
/implied-consent.
/interstitial.js
/privacy-consent-
/privacy-manager.js
/sdk-gdpr.
/tcf/cookie.
/tcf2.js
/tracking-opt-in.
`;

export const RULES: readonly string[] = [ADS, TRACKERS, NOTICES].flatMap((group) => group.trim().split('\n'));

/** `||` begins the name of a host or of its parent, `*` is any text, `^` ends a word of a URL. */
const MEANING: Readonly<Record<string, string>> = {
  '||': '^[a-z]+://(?:[^/]*\\.)?',
  '*': '.*',
  '^': '(?:[^\\w.%-]|$)',
};

function patternOf(rule: string): RegExp {
  const source = rule.replace(/^\|\||\W/g, (part, at) =>
    part === '|' ? (at === 0 ? '^' : '$') : (MEANING[part] ?? `\\${part}`),
  );
  return new RegExp(source, 'i');
}

const PATTERNS = RULES.map((rule) => [rule, patternOf(rule)] as const);

/** Return whether a rule matches an address. */
export function isMatch(rule: string, url: string): boolean {
  return patternOf(rule).test(url);
}

/** Return the first of `RULES` that matches an address. */
export function ruleAgainst(url: string): string | undefined {
  return PATTERNS.find(([, pattern]) => pattern.test(url))?.[0];
}
