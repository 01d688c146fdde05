/** Consent management platforms, as far as the specifications of TCF 2 and GPP 1.1 say how they talk. */

type Listener = (data: unknown, success: boolean) => void;

const install = (api: '__tcfapi' | '__gpp', take: (command: string, listener: Listener, parameter: unknown) => void) =>
  Object.assign(window, {
    [api]: (command: string, ...rest: unknown[]) => {
      const [listener, parameter] = api === '__gpp' ? rest : rest.slice(1);
      take(command, listener as Listener, parameter);
    },
  });

const createListeners = () => {
  const listeners = new Map<number, Listener>();
  let last = 0;
  return {
    count: () => listeners.size,
    add: (listener: Listener) => {
      listeners.set(++last, listener);
      return last;
    },
    remove: (id: unknown) => listeners.delete(id as number),
    each: (call: (listener: Listener, listenerId: number) => void) => {
      for (const [id, listener] of listeners) call(listener, id);
    },
  };
};

/** What a TCF user may be told and say. */
export const TCF = {
  shown: { gdprApplies: true, eventStatus: 'cmpuishown', purpose: { consents: {} }, vendor: { consents: {} } },
  elsewhere: { gdprApplies: false, eventStatus: 'tcloaded' },
  yes: (purposes = [1], vendors = [21], eventStatus = 'useractioncomplete') => ({
    gdprApplies: true,
    eventStatus,
    purpose: { consents: Object.fromEntries(purposes.map((id) => [id, true])) },
    vendor: { consents: Object.fromEntries(vendors.map((id) => [id, true])) },
  }),
};

/** Put `__tcfapi` on the page; it starts with what it knows already. */
export const installTcf = (first: object = TCF.shown) => {
  const { add, remove, each, count } = createListeners();
  let latest = first;
  install('__tcfapi', (command, listener, parameter) => {
    if (command === 'addEventListener') listener({ ...latest, listenerId: add(listener) }, true);
    else if (command === 'removeEventListener') listener(remove(parameter), true);
    else listener(null, false);
  });
  return {
    count,
    tell: (data: object) => {
      latest = data;
      each((listener, listenerId) => listener({ ...data, listenerId }, true));
    },
    fail: () => each((listener) => listener(null, false)),
  };
};

/** Put `__gpp` on the page. */
export const installGpp = (first: object = { signalStatus: 'not ready' }) => {
  const { add, remove, each, count } = createListeners();
  let pingData = first;
  install('__gpp', (command, listener, parameter) => {
    if (command === 'addEventListener') {
      listener({ eventName: 'listenerRegistered', listenerId: add(listener), data: true, pingData }, true);
    } else if (command === 'removeEventListener') listener(remove(parameter), true);
    else listener(null, false);
  });
  return {
    count,
    tell: (next: object, eventName = 'sectionChange') => {
      pingData = next;
      each((listener, listenerId) => listener({ eventName, listenerId, data: 'usnat', pingData }, true));
    },
  };
};

export const removeCmps = () => {
  for (const api of ['__tcfapi', '__gpp']) Reflect.deleteProperty(window, api);
};
