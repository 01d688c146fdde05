import { chromium } from '../support/chromium.ts';
import { testWorldsIn } from './tests.ts';

testWorldsIn(chromium);
