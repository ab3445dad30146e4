/** The parts of OpenAPI 3.1 that the page shows; all may be absent. What else a schema says is shown as it stands. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  format?: string;
  pattern?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
};

export type Reference = { $ref: string };
export type Header = { description?: string; required?: boolean; schema?: Schema };
export type Parameter = Header & { name: string; in: string };
export type Content = Record<string, { schema?: Schema }>;
export type Response = { description?: string; headers?: Record<string, Header | Reference>; content?: Content };
export type SecurityScheme = { description?: string };

/** A request that works, once its sample identifiers are replaced. */
export type Example = {
  summary: string;
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
};

export type PathOperation = {
  operationId?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; content?: Content };
  responses?: Record<string, Response | Reference>;
  "x-examples"?: Example[];
};

export type PathItem = Record<string, PathOperation>;

export type ApiDocument = {
  openapi: string;
  info?: { version?: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, PathItem>;
  webhooks?: Record<string, PathItem>;
  components?: { schemas?: Record<string, Schema>; securitySchemes?: Record<string, SecurityScheme> };
};
