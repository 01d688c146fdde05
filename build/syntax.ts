/**
 * A program as a tree (ESTree) and as text: who names which variable, who binds it, and edits of the text by place. It does
 * not know what the edits are for.
 */

import { parseAst } from 'vite';

/** A node of the syntax tree (ESTree), with its place in the text. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** A variable is named here. */
export interface Mention {
  readonly name: string;
  readonly node: Node;
  /** The nodes that it is in, the nearest last. */
  readonly above: readonly Node[];
  /** `{ name }` stands for `{ name: name }`. */
  readonly isShorthand: boolean;
}

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
export const isFunction = ({ type }: Node) => /Function/.test(type);
export const nodes = (value: unknown) => value as readonly Node[];
export const nameOf = (node: unknown) => (node as Node)['name'] as string;

/** See every node below, with those that it is in, the nearest last: a list that goes on changing. */
export const visit = (node: Node, see: (node: Node, above: readonly Node[]) => void, above: Node[] = []): void => {
  see(node, above);
  above.push(node);
  for (const value of Object.values(node))
    if (Array.isArray(value)) {
      for (const child of value) if (isNode(child)) visit(child, see, above);
    } else if (isNode(value)) visit(value, see, above);
  above.pop();
};

export const some = (root: Node, is: (node: Node, above: readonly Node[]) => boolean): boolean => {
  let found = false;
  visit(root, (node, above) => {
    found ||= is(node, above);
  });
  return found;
};

/** Variables that are named below a node: no members and keys. */
export const mentionsIn = (root: Node): Mention[] => {
  const mentions: Mention[] = [];
  visit(root, (node, above) => {
    const parent = above.at(-1);
    if (node.type !== 'Identifier') return;
    const isKey = parent?.['key'] === node && !parent['computed'];
    if (parent?.type === 'MemberExpression' && parent['property'] === node && !parent['computed']) return;
    const isShorthand = above.slice(-2).some((one) => one['shorthand'] && (one['key'] as Node).start === node.start);
    // Key and value of a shorthand are two nodes at one place.
    if (isKey === isShorthand) mentions.push({ name: nameOf(node), node, above: [...above], isShorthand });
  });
  return mentions;
};

/** Nodes that a pattern binds. */
export const boundBy = (pattern: Node | null | undefined): Node[] => {
  if (!pattern) return [];
  if (pattern.type === 'Identifier') return [pattern];
  const inner = pattern['value'] ?? pattern['left'] ?? pattern['argument'];
  return isNode(inner) ? boundBy(inner) : nodes(pattern['properties'] ?? pattern['elements']).flatMap(boundBy);
};

/** Nodes that one node binds: in its own scope, or in that around it. */
export const bindingsOf = (node: Node): Node[] =>
  node.type === 'VariableDeclarator' || /^Class/.test(node.type)
    ? boundBy(node['id'] as Node)
    : isFunction(node)
      ? [...boundBy(node['id'] as Node), ...nodes(node['params']).flatMap(boundBy)]
      : boundBy(node.type === 'CatchClause' ? (node['param'] as Node) : undefined);

/** Names that the statements of a block declare. */
export const declaredBy = (block: Node): string[] =>
  [block['body'] ?? []]
    .flat()
    .filter(isNode)
    .flatMap((statement) =>
      statement.type === 'VariableDeclaration'
        ? nodes(statement['declarations']).flatMap(bindingsOf)
        : /Declaration$/.test(statement.type)
          ? boundBy(statement['id'] as Node)
          : [],
    )
    .map(nameOf);

export const apply = (
  code: string,
  edits: readonly Edit[],
  { start, end } = { start: 0, end: code.length },
): string => {
  let text = '';
  let at = start;
  for (const edit of edits.filter((one) => one.start >= start && one.end <= end).sort((a, b) => a.start - b.start))
    if (edit.start >= at) {
      text += code.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
  return text + code.slice(at, end);
};

export const renamed = ({ node: { start, end }, name, isShorthand }: Mention, to: string): Edit => ({
  start,
  end,
  text: isShorthand ? `${name}: ${to}` : to,
});

/** What is known of a text. */
export const study = (code: string) => {
  const tree = parseAst(code) as unknown as Node;
  const mentions = new Map<string, Mention[]>();
  for (const mention of mentionsIn(tree)) {
    const others = mentions.get(mention.name);
    if (others) others.push(mention);
    else mentions.set(mention.name, [mention]);
  }
  const bindings = new Map<string, number>();
  visit(tree, (node) => {
    for (const one of bindingsOf(node)) bindings.set(nameOf(one), (bindings.get(nameOf(one)) ?? 0) + 1);
  });
  return {
    tree,
    mentionsOf: (name: string) => mentions.get(name) ?? [],
    isBoundOnce: (name: string) => bindings.get(name) === 1,
    isAssigned: (name: string) =>
      (mentions.get(name) ?? []).some(
        ({ node, above }) =>
          above.at(-1)!['left'] === node ||
          above.at(-1)!.type === 'UpdateExpression' ||
          // A target among others: `[a, { b }] = ...`.
          above.some(
            ({ left }) =>
              isNode(left) && /Pattern$/.test(left.type) && left.start <= node.start && node.end <= left.end,
          ),
      ),
  };
};

export const parametersOf = (host: Node) => nodes(host['params']).flatMap(boundBy).map(nameOf);

/** A function that has a name inside, or parameters with defaults: those see names that its body hides. */
export const isOdd = (host: Node) =>
  (host.type === 'FunctionExpression' && !!host['id']) ||
  nodes(host['params']).some((one) => some(one, ({ type }) => type === 'AssignmentPattern'));
