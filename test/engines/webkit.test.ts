import { webkit } from '../support/webkit.ts';
import { testEngine } from './suite.ts';

testEngine(webkit);
