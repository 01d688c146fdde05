/** A program: the operator of `dist/` on a port, with a participant of role MAPPER. */

import { builtNode, builtOperator } from './built.ts';
import { report } from './child.ts';

const { createOperator } = await builtOperator();
const { listen } = await builtNode();

const operator = createOperator({ roles: ['MAPPER'] });
const { url: baseUrl } = await listen(operator, { port: 0 });
report({ baseUrl, ...operator.participants[0]! });
