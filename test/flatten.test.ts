import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { flatten } from '../build/flatten.ts';

/** Run a program that leaves its answer in `said`. */
const run = (program: string): unknown => {
  const page: { said?: unknown } = {};
  runInNewContext(`(function () {\n${program}\n})()`, { page, say: (value: unknown) => (page.said = value) });
  return JSON.stringify(page.said);
};

const flat = (program: string) => flatten(`(function () {\n${program}\n})();`);

/** A program, and what has to be gone from it once it is flat. */
const programs: [what: string, program: string, gone: RegExp | undefined][] = [
  [
    'a factory that is called once goes to its call, and its object to variables',
    `const make = (start) => { let count = start; return { up: () => ++count, get now() { return count; } }; };
     const main = () => { const counter = make(2); counter.up(); counter.up(); return counter.now; };
     say(main());`,
    /make|counter\./,
  ],
  [
    'names of the body give way to those of the place',
    `const now = 1;
     const make = (a) => { const b = a + now; const inner = (b) => b * a; return { c: () => inner(b) }; };
     const main = (a) => { const now = 10; const b = 100; const it = make(a + now); return [a, now, b, it.c()]; };
     say(main(5));`,
    /make/,
  ],
  [
    'a parameter that the body sets anew is its own',
    `const make = (a) => { const first = a; a = 7; return { both: () => [first, a] }; };
     const main = () => { let a = 3; const it = make(a); return [a, it.both()]; };
     say(main());`,
    /make/,
  ],
  [
    'members that the object is given later, that are set, counted, called only where they are there',
    `const make = () => { const it = { n: 0, add() { } }; return it; };
     const build = () => { const it = { n: 0, none: undefined, get double() { return it.n * 2; } }; return it; };
     const main = () => { const it = build(); it.n++; it.n += 2; it.late = 4; return [it.n, it.none?.(), it.late, it.double, it.never]; };
     say([main(), typeof make().add]);`,
    /build|it\.n\b/,
  ],
  [
    'an object that is passed on as a whole stays whole, a second name for it does not',
    `const keys = (of) => Object.keys(of);
     const make = (on) => { const inner = { on, off: 2 }; const same = inner; return { sum: () => same.on + inner.off }; };
     const main = () => { const whole = { a: 1, b: 2 }; const it = make(whole.a); return [keys(whole), it.sum()]; };
     say(main());`,
    /make|inner\./,
  ],
  [
    'members that are taken out at once',
    `const make = () => { const list = []; return { add: (x) => list.push(x), all: () => list }; };
     const main = () => { const { all: every, add } = make(); add(1); add(2); return every(); };
     say(main());`,
    /make|all:/,
  ],
  [
    'what is called twice, returns early, waits, has defaults, looks at this, or is called within an expression stays',
    `const twice = (a) => { const b = a; return { b }; };
     const early = (a) => { if (a) return { b: 1 }; return { b: 2 }; };
     const defaults = (a = 4) => { const b = a; return { b }; };
     const nested = (a) => { const b = a; return { b }; };
     const bare = () => { const it = { n: 5, own() { return this.n; } }; return it; };
     const main = () => {
       const x = twice(1); const y = twice(2); const z = early(0); const d = defaults(); const own = bare();
       return [x.b, y.b, z.b, d.b, [nested(6)].length, own.own()];
     };
     say(main());`,
    undefined,
  ],
  [
    'a call in a loop, or below a name that would capture, stays',
    `const far = 1;
     const make = (a) => { const b = a + far; return { b: () => b }; };
     const other = (a) => { const b = a + far; return { b: () => b }; };
     const main = () => {
       const said = [];
       for (const one of [1, 2]) { const it = make(one); said.push(it.b); }
       { const far = 50; said.push(() => far); const run = () => { const it = other(far); said.push(it.b); }; run(); }
       return said.map((f) => f());
     };
     say(main());`,
    undefined,
  ],
  [
    'shorthands, patterns, defaults and keys of the same name',
    `const make = (name, given) => {
       const { a = name, ...rest } = given; const list = ({ name }) => name;
       return { name, a, rest, list, 'b': 3 }.name && { tell: () => ({ name, a, rest, said: list({ name: 'inner' }) }) };
     };
     const main = () => { const name = 'outer'; const it = make('given', { b: 2 }); return [name, it.tell()]; };
     say(main());`,
    /const make/,
  ],
];

describe('a flat program says the same', () => {
  test.each(programs)('%s', (_, program, gone) => {
    const text = flat(program);
    expect(run(text)).toBe(run(program));
    expect(run(program)).toBeDefined();
    if (gone) expect(text).not.toMatch(gone);
  });
});

/** Forms at the edge of what it takes: seen to change their meaning once, or near to those. */
const edges: [what: string, program: string][] = [
  [
    'a call in a function that is declared',
    `say((() => { const make = () => { const q = 1; return { a: () => q }; }; function f() { const it = make(); return it.a(); } return f(); })());`,
  ],
  [
    'below a loop whose variable would capture',
    `say((() => { const x = 1; const make = () => { const q = 2; return { get: () => x + q }; }; const out = []; for (const x of [50]) { const f = () => { const it = make(); return it.get(); }; out.push(f(), x); } return out; })());`,
  ],
  ['members in quotes', `say((() => { const it = { 'x': 1, z: 3 }; return [it.x, it.z]; })());`],
  ['a variable that is set by a list', `say((() => { let a = 1; const that = a; [a] = [2]; return [that, a]; })());`],
  ['members that every object has', `say((() => { const it = { a: 1 }; return it.hasOwnProperty('a'); })());`],
  [
    'a parameter whose default means a variable outside',
    `say((() => { const b = 5; const make = () => { const q = 1; return () => q; }; const f = (a = b) => { const b = 2; const it = make(); return [a, b, it()]; }; return f(); })());`,
  ],
  [
    'arguments of the function around',
    `say((() => { const f0 = function () { const make = () => { const q = 1; return () => arguments.length + q; }; const host = function () { const it = make(); return it(); }; return host(1, 2, 3); }; return f0(); })());`,
  ],
  ['or by an object', `say((() => { let a = 1; const that = a; ({ a } = { a: 2 }); return [that, a]; })());`],
  [
    'members that are computed',
    `say((() => { const k = 'z'; const { [k]: v } = { k: 1 }; return v === undefined ? 'undef' : v; })());`,
  ],
  [
    'members that are deleted',
    `say((() => { const it = { a: 1, b: 2 }; it.a = 3; delete it?.b; return [it.a, it.b]; })());`,
  ],
  [
    'labels',
    `say((() => { const make = () => { const a = 1; a: for (;;) { break a; } return () => a; }; const f = () => { const it = make(); return it(); }; return f(); })());`,
  ],
  [
    'a function that calls itself by name',
    `say((() => { const make = (n) => { const q = n; return { v: q }; }; const host = function self(n) { const it = make(n); return n ? it.v + self(n - 1) : 0; }; return host(3); })());`,
  ],
  [
    'what is caught',
    `say((() => { const make = (n) => { const e = n; return { v: () => e }; }; const f = () => { try { throw 7; } catch (e) { } const e = 1; const it = make(4); return [it.v(), e]; }; return f(); })());`,
  ],
  [
    'arguments that do something, in their order',
    `say((() => { const log = []; const make = (a, b) => { log.push('body'); return { a, b }; }; const f = () => { const it = make(log.push('x'), log.push('y')); return [it.a, it.b, log]; }; return f(); })());`,
  ],
  [
    'arguments that mean what comes later',
    `say((() => { const make = (cb) => { const go = () => cb(); return { go }; }; const f = () => { const it = make(() => it2.x); const it2 = { x: 4 }; return it.go(); }; return f(); })());`,
  ],
];

test.each(edges)('a flat program says the same: %s', (_, program) => {
  expect(run(flat(program))).toBe(run(program));
  expect(run(program)).toBeDefined();
});

test('a name that looks like one of its own is refused', () => {
  expect(() => flat('const a·1 = 1; say(a·1);')).toThrow('a·1');
});
