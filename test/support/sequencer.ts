/** The order of the test files: the longest first, so that no worker is left with one at the end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Vitest knows the times of an earlier run. In a new clone it starts large files first, and these are small. */
const LONG = /\/test\/(worlds\/(whole-\w+|tag)|docs\/site)\.test\.ts$/;

export default class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
