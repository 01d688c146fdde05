/** The default of each option, as the docstring of its interface states it: "Default 10,000", "Default: `auto`", "`app` (default)". */

import { readFileSync } from 'node:fs';

/** Options that pages pass, with the files of their interfaces. */
export const IN_PAGES = {
  SessionOptions: 'session/types.ts',
  InitOptions: 'page/uid2/types.ts',
  CookieOptions: 'page/uid2/types.ts',
  PrebidOptions: 'page/user-id-module.ts',
  SecureSignalsOptions: 'page/secure-signals.ts',
  CmpOptions: 'page/consent/cmp.ts',
  WebviewOptions: 'page/webview.ts',
  TesseraHostOptions: 'react-native/types.ts',
  VitalsOptions: 'page/vitals.ts',
  InspectorOptions: 'page/inspector/inspect.ts',
} as const;

/** Options that servers and tests pass. */
export const ON_SERVERS = {
  ClientOptions: 'server/options.ts',
  RetryOptions: 'server/options.ts',
  TokenHandlerOptions: 'server/handler/handler.ts',
  VitalsHandlerOptions: 'server/handler/vitals.ts',
  MappingsOptions: 'mapping/types.ts',
  OperatorOptions: 'operator/options/options.ts',
  ListenOptions: 'operator/node.ts',
  TestbedOptions: 'testing/types.ts',
  Lifetimes: 'testing/types.ts',
} as const;

const ISO_DATE = /^\d{4}-\d\d-\d\dT[\d:]+Z$/;

/** The value of code in a docstring: an expression, a global, otherwise the text of a string. */
function evaluated(code: string): unknown {
  if (/^[[{']|^(Date|console|window)\.\w+$/.test(code)) return new Function(`return (${code})`)();
  return code;
}

/** Undefined if the text states no value, for example "the global `fetch`". */
function defaultIn(docstring: string): unknown {
  const text = docstring.replaceAll(/\s*\n\s*\* /g, ' ');
  const members = [...text.matchAll(/`(\w+)` \(([\d,]+)\)/g)].map(([, name, value]) => [name, numberOf(value!)]);
  if (members.length) return Object.fromEntries(members);
  const [, code] = /Default:? `([^`]+)`/.exec(text) ?? /`([^`]+)` \(default\)/.exec(text) ?? [];
  if (code !== undefined) return evaluated(code);
  const [, word = '', unit] = /Default:? (\S+?)(?: (min|h|d))?(?=[.;:,]?(?:\s|$))/.exec(text) ?? [];
  if (unit) return `${word} ${unit}`;
  if (/^\d[\d,]*(\.\d+)?$/.test(word)) return numberOf(word);
  if (ISO_DATE.test(word)) return new Date(word);
  return { true: true, false: false }[word];
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''));
}

/** The options of these interfaces whose default is a value. */
export function defaultsOf<Name extends string>(
  files: Readonly<Record<Name, string>>,
): [options: Name, option: string, value: unknown][] {
  return Object.entries<string>(files).flatMap(([name, file]) => {
    const [, body = ''] = new RegExp(`^export interface ${name}\\b.*\\{\\n((?:(?!\\}).*\\n)+)`, 'm').exec(
      readFileSync(`src/${file}`, 'utf8'),
    )!;
    const members = [...body.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s+(?:readonly )?(\w+)\?:/gs)];
    const values = members.map(([, docstring, option]) => [name, option!, defaultIn(docstring!)] as const);
    return values.filter(([, , value]) => value !== undefined).map((row) => [...row] as [Name, string, unknown]);
  });
}
