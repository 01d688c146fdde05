/** The theme: VitePress's own, with the fonts of the reader's device, and the live figure. */

import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { defineAsyncComponent } from 'vue';
import './style.css';

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    // On demand: a page without the figure loads none of it.
    app.component(
      'LiveToken',
      defineAsyncComponent(() => import('./LiveToken.vue')),
    );
  },
};

export default theme;
