import { webkit } from '../support/webkit.ts';
import { tellStories } from './stories.ts';

tellStories(webkit);
