/** What the example for Angular uses; test/consumers.test.ts runs it with the real package. */

declare module '@angular/core' {
  export class InjectionToken<T> {
    constructor(name: string, options: { providedIn: 'root'; factory: () => T });
    readonly type: T;
  }
  export class NgZone {
    run<T>(work: () => T): T;
    runOutsideAngular<T>(work: () => T): T;
  }
  export class DestroyRef {
    onDestroy(work: () => void): void;
  }
  export const PLATFORM_ID: InjectionToken<object | string>;
  export function inject<T>(token: InjectionToken<T>): T;
  export function inject<T>(type: new () => T): T;
  export function signal<T>(value: T): { set(value: T): void; asReadonly(): () => T };
}
