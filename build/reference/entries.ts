/**
 * Writes the reference of the entry points: TypeDoc reads the source and its docstrings, and typedoc-plugin-markdown writes one
 * page for each entry point. This file knows neither VitePress nor the sidebar.
 */

import { readFileSync } from 'node:fs';
import {
  Application,
  Comment,
  Converter,
  type DeclarationReflection,
  LogLevel,
  type ParameterReflection,
  type ProjectReflection,
  ReflectionKind,
} from 'typedoc';
import { load, type PluginOptions } from 'typedoc-plugin-markdown';
import { root } from '../dist.ts';
import { entries } from '../entries.ts';

function importOf(path: string): string {
  return `tessera-id${path.slice(1)}`;
}

/** Return the purpose of an entry file, from its first docstring. */
function purposeOf(file: string): string {
  const [, text = ''] = /^(?:\/\/\/.*\n)*\/\*\*(.*?)\*\//s.exec(readFileSync(file, 'utf8')) ?? [];
  const [paragraph = ''] = text
    .replace(/^ *\* ?/gm, '')
    .trim()
    .split('\n\n');
  return paragraph;
}

const options: Partial<PluginOptions> & Record<string, unknown> = {
  plugin: [load],
  entryPoints: Object.values(entries).map((file) => `${root}src/${file}.ts`),
  tsconfig: `${root}tsconfig.build.json`,
  // `tsc` has already checked the types; this is a different version of the compiler.
  skipErrorChecking: true,
  logLevel: LogLevel.Warn,
  treatWarningsAsErrors: true,
  excludeInternal: true,
  preservedTypeAnnotationTags: ['@throws'],
  // Exclude members that an element inherits from the DOM.
  excludeExternals: true,
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  groupOrder: ['Functions', 'Variables', 'Classes', 'Interfaces', 'Type Aliases', '*'],
  readme: 'none',
  router: 'module',
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  sourceLinkTemplate: 'https://github.com/tessera-id/tessera/blob/main/src/{path}#L{line}',
  gitRevision: 'main',
  disableGit: true,
  basePath: root,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  tableColumnSettings: {
    hideSources: true,
    hideDefaults: true,
    hideInherited: true,
    hideModifiers: true,
    hideOverrides: true,
  },
};

/** Write the type of a `@throws` tag, which TypeDoc stores separately, before its text. */
function showThrownTypes(project: ProjectReflection): void {
  for (const { comment } of Object.values(project.reflections))
    for (const tag of comment?.blockTags ?? [])
      if (tag.typeAnnotation) {
        const types = tag.typeAnnotation.replace(/^\{(.*)\}$/s, '$1');
        tag.content.unshift({ kind: 'code', text: `\`${types}\`` }, { kind: 'text', text: ': ' });
      }
}

/**
 * Write the pages.
 *
 * @param folder  the output folder, with a trailing slash.
 * @throws {Error} if TypeDoc fails or warns, for example about a broken link in a docstring.
 */
export async function writeEntries(folder: string): Promise<void> {
  const app = await Application.bootstrapWithPlugins({
    ...options,
    outputs: [{ name: 'markdown', path: folder }],
  } as never);
  // TypeDoc names each module after its folder.
  const names = new Map(Object.entries(entries).map(([path, file]) => [`src/${file.replace(/\/index$/, '')}`, path]));
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_: unknown, made: DeclarationReflection) => {
    if (!made.kindOf(ReflectionKind.Module)) return;
    const path = names.get(made.name);
    if (path === undefined) return;
    made.name = importOf(path);
    made.comment = new Comment([{ kind: 'text', text: purposeOf(`${root}src/${entries[path]}.ts`) }]);
  });
  app.converter.on(Converter.EVENT_CREATE_PARAMETER, (_: unknown, made: ParameterReflection) => {
    if (made.name === '__namedParameters') made.name = 'options';
  });
  const project = await app.convert();
  if (!project) throw new Error('TypeDoc could not read the source');
  showThrownTypes(project);
  app.validate(project);
  await app.generateOutputs(project);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('TypeDoc found faults in the docstrings');
}
