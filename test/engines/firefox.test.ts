import { firefox } from '../support/firefox.ts';
import { tellStories } from './stories.ts';

tellStories(firefox);
