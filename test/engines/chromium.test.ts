import { chromium } from '../support/chromium.ts';
import { testEngine } from './suite.ts';

testEngine(chromium);
