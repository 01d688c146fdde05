/** The theme: VitePress's own, with the fonts of the reader's device, and the live figure. */

import { type Theme, useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { defineAsyncComponent, onMounted, watch } from 'vue';
import './style.css';

/** Give the home page its main landmark, which the layout of VitePress lacks. */
const markMain = (): void => {
  const { frontmatter } = useData();
  const mark = (): void => {
    const content = document.getElementById('VPContent');
    if (frontmatter.value['layout'] === 'home') content?.setAttribute('role', 'main');
    else content?.removeAttribute('role');
  };
  onMounted(mark);
  watch(frontmatter, mark, { flush: 'post' });
};

const theme: Theme = {
  extends: DefaultTheme,
  setup: markMain,
  enhanceApp({ app }) {
    // On demand: a page without the figure loads none of it.
    app.component(
      'LiveToken',
      defineAsyncComponent(() => import('./LiveToken.vue')),
    );
  },
};

export default theme;
