// The packages of this folder that tests import. `consumers()` in ../support/packed.ts installs and loads it.

export { Deployment } from 'kubernetes-models/apps/v1';
export { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
export { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
export { Service } from 'kubernetes-models/v1';
export { publint } from 'publint';
export { default as webpack } from 'webpack';
