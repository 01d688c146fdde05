import { firefox } from '../support/firefox.ts';
import { testWorldsIn } from './tests.ts';

testWorldsIn(firefox);
