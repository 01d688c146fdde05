import * as SecureStore from 'expo-secure-store';
import { useEffect, useRef, useState } from 'react';
import { Alert, AppState, Button, Text, View } from 'react-native';
import { WebView, type WebViewMessageEvent } from 'react-native-webview';
import { createTesseraHost, secureStorage } from 'tessera-id/react-native';

/**
 * Your site, whose page has `owner: 'host'` and `refresh: 'off'`, and which answers `/token` for the user of the login. Users log in
 * in the app alone.
 */
const SITE = process.env.EXPO_PUBLIC_SITE ?? 'http://localhost:3000';
/** The item in which the app keeps the login of its user. */
const LOGIN = 'login';

/** What the site's server has received from the operator; null, which logs out: the login has ended. */
async function tokensOfTheUser() {
  const login = await SecureStore.getItemAsync(LOGIN);
  if (!login) throw new Error('the app has no login');
  const response = await fetch(`${SITE}/token`, { method: 'POST', headers: { authorization: `Bearer ${login}` } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`); // the next `resume` asks again
  return response.status === 204 ? null : response.json();
}

let show = (_: string | undefined) => {};
const host = createTesseraHost({
  baseUrl: process.env.EXPO_PUBLIC_TESSERA_BASE_URL ?? 'http://localhost:8080',
  origins: [SITE],
  storage: secureStorage(SecureStore),
  onToken: (advertisingToken) => show(advertisingToken),
  onNeedsTokens: async (request) => request.renew(await tokensOfTheUser()),
});
AppState.addEventListener('change', (state) => (state === 'active' ? host.resume() : host.pause()));

async function logIn(login: string) {
  await SecureStore.setItemAsync(LOGIN, login);
  const answer = await tokensOfTheUser();
  // Meanwhile there was a logout, or another login.
  if ((await SecureStore.getItemAsync(LOGIN)) !== login) return;
  if (answer) await host.signedIn(answer);
}

async function logOut() {
  await SecureStore.deleteItemAsync(LOGIN);
  await host.signedOut();
}

/** Not done: the storage has refused it, say. */
const report = (error: Error) => Alert.alert(error.message);

export default function App() {
  const view = useRef<WebView>(null);
  const [token, setToken] = useState(host.advertisingToken);
  useEffect(() => {
    show = setToken;
    const { current } = view;
    if (!current) return;
    host.attach(current);
    return () => host.detach(current);
  }, []);
  return (
    <View style={{ flex: 1, paddingTop: 50 }}>
      <Text>{token ? 'the app has a token' : 'no token'}</Text>
      <Button title="Log in" onPress={() => logIn('reader').catch(report)} />
      <Button title="Log out" onPress={() => logOut().catch(report)} />
      <WebView
        ref={view}
        source={{ uri: SITE }}
        onMessage={(event: WebViewMessageEvent) => view.current && host.onMessage(event, view.current)}
        onContentProcessDidTerminate={() => view.current?.reload()}
      />
    </View>
  );
}
