/**
 * Takes code that is cut into factories for its readers apart again for a script-tag file: the body of a factory that is
 * called once goes to the place of its call, and an object that nobody sees whole becomes plain variables, whose names
 * a minifier can shorten. That is worth 90 bytes of brotli in `tessera.js`.
 *
 * Every name that moves, or that is passed on the way, is made unique first, so nothing can be captured. Whatever is not of
 * the narrow forms that are described below is left as it is.
 */

import {
  apply,
  bindingsOf,
  declaredBy,
  isFunction,
  isOdd,
  mentionsIn,
  type Node,
  nameOf,
  nodes,
  parametersOf,
  renamed,
  some,
  study,
  visit,
} from './syntax.ts';

/** Is in every name that is made here, and may not be in others. */
const MARK = '·';

/** Statements `const name = ...` that stand directly in a block, with that block. */
const declarationsIn = (tree: Node) => {
  const found: { statement: Node; id: Node; init: Node; block: Node }[] = [];
  visit(tree, (statement, above) => {
    const [declarator, more] = nodes(statement['declarations'] ?? []);
    const block = above.at(-1);
    const { id, init } = (declarator ?? {}) as { id: Node; init?: Node };
    if (init && !more && block?.type === 'BlockStatement') found.push({ statement, id, init, block });
  });
  return found;
};

/**
 * `const make = (a, b) => { ...; return result; }`, called once, in a statement `const it = make(x, y)`: becomes
 * `let a = x; let b = y; ...; const it = result`.
 */
const inlineOne = (code: string, suffix: string): string | undefined => {
  const { tree, mentionsOf } = study(code);
  const all = declarationsIn(tree);
  for (const { statement, id, init, block } of all) {
    const body = init['body'] as Node;
    if (init.type !== 'ArrowFunctionExpression' || init['async'] || body.type !== 'BlockStatement') continue;
    const last = nodes(body['body']).at(-1);
    const isOther = (node: Node, above: readonly Node[]) =>
      node.type === 'ThisExpression' ||
      (node.type === 'Identifier' && nameOf(node) === 'arguments') ||
      (node.type === 'ReturnStatement' && node !== last && above.filter(isFunction).length === 0);
    const parameters = nodes(init['params']);
    if (last?.type !== 'ReturnStatement' || !last['argument'] || some(body, isOther)) continue;
    if (parameters.some(({ type }) => type !== 'Identifier')) continue;

    const uses = mentionsOf(nameOf(id)).filter(({ node }) => node !== id);
    const site = all.find((one) => one.init.type === 'CallExpression' && one.init['callee'] === uses[0]?.node);
    if (uses.length !== 1 || !site || !uses[0]!.above.includes(block)) continue;
    const given = nodes(site.init['arguments']);
    if (given.length > parameters.length || given.some(({ type }) => type === 'SpreadElement')) continue;

    // The scopes between: functions give way with their names, anything else that has a name of the body stops the move.
    const between = uses[0]!.above.slice(uses[0]!.above.indexOf(block) + 1);
    const hosts = between.filter(isFunction);
    const others = between.filter((one) => !hosts.some((host) => host === one || host['body'] === one));
    const own = new Set([...parameters.map(nameOf), ...declaredBy(body)]);
    const free = new Set(mentionsIn(init).flatMap(({ name }) => (own.has(name) ? [] : name)));
    if (!hosts.length || site.block !== hosts.at(-1)!['body']) continue;
    // Names that are bound in other ways are not looked for, but keep the move from being made.
    if (others.some(({ type }) => /^(For|Switch|Catch)/.test(type)) || hosts.some(isOdd)) continue;
    if (others.flatMap((one) => [...bindingsOf(one).map(nameOf), ...declaredBy(one)]).some((name) => free.has(name)))
      continue;

    const theirs = new Set(hosts.flatMap((host) => [...parametersOf(host), ...declaredBy(host['body'] as Node)]));
    const moved = mentionsIn(init).flatMap((one) => (own.has(one.name) ? renamed(one, one.name + suffix) : []));
    // A name that has its mark is unique already.
    const kept = mentionsIn(hosts[0]!).flatMap((one) =>
      theirs.has(one.name) && !one.name.includes(MARK) ? renamed(one, `${one.name}${suffix}_`) : [],
    );
    const lines = [
      ...parameters.map(
        (one, i) => `let ${nameOf(one)}${suffix} = ${given[i] ? apply(code, kept, given[i]) : 'void 0'};`,
      ),
      ...nodes(body['body'])
        .slice(0, -1)
        .map((one) => apply(code, moved, one)),
      `${site.statement['kind']} ${apply(code, kept, site.id)} = ${apply(code, moved, last['argument'] as Node)};`,
    ];
    return apply(code, [
      { ...statement, text: '' },
      { start: site.statement.start, end: site.statement.end, text: lines.join('\n') },
      ...kept,
    ]);
  }
  return undefined;
};

/**
 * `const it = { a: x, get b() { ... } }` of which only members are used: becomes `let it_a = x; const it_b = () => { ... }`.
 * A second name (`const that = it`) becomes the first; `const { a } = { a: x }` becomes `const a = x`.
 */
const scatterOne = (code: string, suffix: string): string | undefined => {
  const { tree, mentionsOf, isBoundOnce, isAssigned } = study(code);
  for (const { statement, id, init, block } of declarationsIn(tree)) {
    const { start, end } = statement;
    const members = nodes(init['properties'] ?? []);
    const isPlain = (one: Node) =>
      one.type === 'Property' &&
      !one['computed'] &&
      !one['method'] &&
      one['kind'] !== 'set' &&
      (one['key'] as Node).type === 'Identifier';
    if (
      init.type === 'ObjectExpression' &&
      (!members.every(isPlain) || some(init, ({ type }) => type === 'ThisExpression'))
    )
      continue;

    if (id.type === 'ObjectPattern') {
      const wanted = nodes(id['properties']);
      const isSimple = wanted.every(
        (one) => one.type === 'Property' && !one['computed'] && (one['value'] as Node).type === 'Identifier',
      );
      if (init.type !== 'ObjectExpression' || !isSimple || wanted.length !== members.length) continue;
      const lines = members.map((member) => {
        const { value } = (wanted.find((one) => nameOf(one['key']) === nameOf(member['key'])) ?? {}) as {
          value?: Node;
        };
        return (
          value && member['kind'] === 'init' && `const ${nameOf(value)} = ${apply(code, [], member['value'] as Node)};`
        );
      });
      if (lines.every(Boolean)) return apply(code, [{ start, end, text: lines.join('\n') }]);
      continue;
    }

    if (id.type !== 'Identifier' || !isBoundOnce(nameOf(id)) || isAssigned(nameOf(id))) continue;
    const uses = mentionsOf(nameOf(id)).filter(({ node }) => node !== id);
    if (uses.some(({ above }) => !above.includes(block))) continue;
    if (init.type === 'Identifier') {
      const first = nameOf(init);
      if (!isBoundOnce(first) || isAssigned(first)) continue;
      return apply(code, [{ start, end, text: '' }, ...uses.map((one) => renamed(one, first))]);
    }
    if (init.type !== 'ObjectExpression') continue;
    const getters = members.filter((one) => one['kind'] === 'get').map((one) => nameOf(one['key']));
    const accesses = uses.map(({ node, above }) => ({ node: above.at(-1)!, of: node, in: above.at(-2)!, above }));
    const isMember = ({ node, of, in: parent, above }: (typeof accesses)[number]) =>
      node.type === 'MemberExpression' &&
      node['object'] === of &&
      !node['computed'] &&
      !above.slice(-3).some((one) => one['operator'] === 'delete') &&
      !(nameOf(node['property']) in {}) &&
      !(getters.includes(nameOf(node['property'])) && (parent['left'] === node || parent.type === 'UpdateExpression'));
    if (!accesses.every(isMember)) continue;
    const variable = (member: string) => `${nameOf(id)}${suffix}${member}`;
    const edits = accesses.map(({ node }) => {
      const member = nameOf(node['property']);
      return { start: node.start, end: node.end, text: variable(member) + (getters.includes(member) ? '()' : '') };
    });
    const missing = new Set(accesses.map(({ node }) => nameOf(node['property'])));
    for (const one of members) missing.delete(nameOf(one['key']));
    const lines = [
      ...[...missing].map((member) => `let ${variable(member)};`),
      ...members.map((one) => {
        const value = one['value'] as Node;
        const text = apply(code, edits, one['kind'] === 'get' ? (value['body'] as Node) : value);
        return `let ${variable(nameOf(one['key']))} = ${one['kind'] === 'get' ? '() => ' : ''}${text};`;
      }),
    ];
    return apply(code, [{ start, end, text: lines.join('\n') }, ...edits]);
  }
  return undefined;
};

/** Flatten a bundle. It means the same as before. Throws where a name has the {@link MARK} already. */
export const flatten = (code: string): string => {
  const { tree } = study(code);
  const odd = mentionsIn(tree).find(({ name }) => name.includes(MARK));
  if (odd) throw new Error(`expected names without ${MARK}, found ${odd.name}`);
  let text = code;
  let count = 0;
  for (const step of [inlineOne, scatterOne])
    for (let next: string | undefined = text; next !== undefined; next = step(text, `${MARK}${++count}`)) text = next;
  return text;
};
