/** Reads an answer of the service, as `generate` prints it, from a file or from standard input. */

import { isTokenError, parseAnswer } from '../../token/index.ts';
import type { Answer } from '../../token/token-set.ts';
import type { Io } from '../io.ts';
import { MAX_CHARACTERS, openInput, warnIfReadableByOthers } from './input.ts';
import { parseJson, shownPath } from './paths.ts';

async function readJson(file: string, io: Io): Promise<unknown> {
  let text = '';
  for await (const piece of (await openInput(file, io)).pieces) {
    text += piece;
    if (text.length > MAX_CHARACTERS)
      throw new RangeError(`${shownPath(file)}: expected a token set, got more than ${MAX_CHARACTERS} characters`);
  }
  return parseJson(text, file);
}

/** Throws a {@link RangeError} for a file that cannot be read, is too long, or holds another JSON than an answer. */
export async function readAnswer(file: string, io: Io): Promise<Answer> {
  const content = await readJson(file, io);
  let answer: Answer;
  try {
    answer = parseAnswer(content);
  } catch (error) {
    throw isTokenError(error) ? new RangeError(`${shownPath(file)}: ${error.message}`) : error;
  }
  // Another file, whose name was a mistake, may be meant for others.
  await warnIfReadableByOthers(file, io);
  return answer;
}
