import { webkit } from '../support/webkit.ts';
import { testWorldsIn } from './tests.ts';

testWorldsIn(webkit);
