/** The package ships no types. These are the parts that DocsPage uses. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  type System = { React: { createElement(type: unknown, props?: object | null, ...children: unknown[]): unknown } };
  export type SwaggerComponent = (props: {
    getComponent: (name: string, isContainer: boolean) => unknown;
    getSystem: () => System;
  }) => unknown;
  export type WrapComponents = Record<string, (original: unknown, system: System) => (props: object) => unknown>;
  export type ResolveSubtree = (document: object, path: string[]) => Promise<{ spec: unknown; errors: unknown[] }>;
  type Options = {
    domNode: HTMLElement;
    spec: object;
    defaultModelsExpandDepth: number;
    displayRequestDuration: boolean;
    tryItOutEnabled: boolean;
    validatorUrl: string;
    plugins: (() => {
      components: Record<string, SwaggerComponent>;
      wrapComponents: WrapComponents;
      fn: { resolveSubtree: ResolveSubtree };
    })[];
    layout: string;
    onComplete: () => void;
  };
  export default function SwaggerUI(options: Options): { preauthorizeApiKey(scheme: string, token: string): void };
}
