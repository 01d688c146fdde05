import { firefox } from '../support/firefox.ts';
import { testEngine } from './suite.ts';

testEngine(firefox);
