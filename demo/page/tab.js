// One more tab with the same session. Its Inspector is hidden, because the dashboard's Inspector has a lane for it.

import { $, operator, provide, showToken } from '/common.js';

const label = new URLSearchParams(location.search).get('label') ?? 'A tab';
$('label').textContent = label;
document.title = label;

// region tab
const session = window.tessera.createSession({ baseUrl: operator, provide });
// endregion

const inspector = document.querySelector('tessera-inspector');
inspector.setAttribute('label', label);
inspector.session = session;
showToken(session);
