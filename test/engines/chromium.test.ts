import { chromium } from '../support/chromium.ts';
import { tellStories } from './stories.ts';

tellStories(chromium);
