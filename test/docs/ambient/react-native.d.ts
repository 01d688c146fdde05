/** What the documentation and examples/expo use of React Native and Expo, which are not installed: they would take minutes in CI. */

declare module 'expo' {
  export function registerRootComponent(component: () => import('react').ReactNode): void;
}

declare module 'expo-secure-store' {
  export const AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY: number;
  export function getItemAsync(key: string, options?: object): Promise<string | null>;
  export function setItemAsync(key: string, value: string, options?: object): Promise<void>;
  export function deleteItemAsync(key: string): Promise<void>;
}

declare module 'react-native' {
  type Component<Props> = (props: Props) => import('react').ReactNode;
  export const Alert: { alert(title: string): void };
  export const AppState: { addEventListener(type: 'change', listener: (state: string) => void): unknown };
  export const Button: Component<{ title: string; onPress(): void }>;
  export const Text: Component<{ children: string }>;
  export const View: Component<{ style: object; children: import('react').ReactNode }>;
}

declare module 'react-native-webview' {
  import { Component } from 'react';

  export interface WebViewMessageEvent {
    readonly nativeEvent: { readonly data: string; readonly url: string };
  }
  interface Props {
    readonly ref: import('react').RefObject<WebView | null>;
    readonly source: { readonly uri: string };
    onMessage(event: WebViewMessageEvent): unknown;
    onContentProcessDidTerminate(): unknown;
  }
  export class WebView extends Component<Props> {
    injectJavaScript(script: string): void;
    reload(): void;
  }
}
