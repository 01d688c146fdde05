/// <reference types="node" />
/**
 * Reading what a verb was pointed to: a file, or standard input where its name is `-`. Line by line or as a whole,
 * never more in memory than was asked for.
 *
 * No message shows the name: who takes a file for a token has typed a token.
 */

import { createReadStream } from 'node:fs';
import type { Io } from './io.ts';

/** Characters that a line, or the whole of a small file, may have. */
const MOST_CHARACTERS = 65_536;

/**
 * The text of `file`, piece by piece.
 *
 * @throws {RangeError} it cannot be read.
 */
async function* piecesOf(file: string, io: Io): AsyncGenerator<string, void, undefined> {
  // It also drops the byte order mark.
  const decoder = new TextDecoder();
  try {
    for await (const piece of file === '-' ? io.stdin() : createReadStream(file))
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
  } catch (error) {
    throw new RangeError(`FILE: expected a readable file, got ${(error as NodeJS.ErrnoException).code ?? 'a failure'}`);
  }
  yield decoder.decode();
}

/**
 * The lines of `file` that are not empty, without the space around them, each with its number from 1 on.
 *
 * @throws {RangeError} it cannot be read, or a line has no end.
 */
export async function* linesOf(file: string, io: Io): AsyncGenerator<[line: string, number: number], void, undefined> {
  let rest = '';
  let number = 0;
  for await (const piece of piecesOf(file, io)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number++;
      if (line.trim()) yield [line.trim(), number];
    }
    if (rest.length > MOST_CHARACTERS)
      throw new RangeError(`FILE: expected lines, got one of more than ${MOST_CHARACTERS} characters`);
  }
  if (rest.trim()) yield [rest.trim(), number + 1];
}

/**
 * The JSON in `file`.
 *
 * @throws {RangeError} it cannot be read, is too long, or is no JSON.
 */
export const jsonIn = async (file: string, io: Io): Promise<unknown> => {
  let text = '';
  for await (const piece of piecesOf(file, io)) {
    text += piece;
    if (text.length > MOST_CHARACTERS)
      throw new RangeError(`FILE: expected a token set, got more than ${MOST_CHARACTERS} characters`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // A parser quotes what it chokes on.
    throw new RangeError('FILE: expected JSON, got other text');
  }
};
