import { openApiDocument } from "../../../shared/contract/openapi/index.ts";

export type Schema = { [keyword: string]: unknown };
type Reference = { $ref: string };
export type Header = { required?: boolean; schema: Schema };
type Media = { schema: Schema; examples?: Record<string, { value: unknown }> };
export type Answer = {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Record<string, Media>;
};
export type Parameter = { in: "path" | "query" | "header"; name: string; required?: boolean; schema: Schema };
export type Example = {
  summary: string;
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
};
type Described = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer | Reference>;
  "x-examples": Example[];
};
type OpenApi = {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Described>>;
  webhooks: Record<string, Record<string, Described>>;
  components: Record<string, Record<string, unknown>>;
};

/** The document as a reader of openapi.json has it. Its shape is what test/unit/contract/openapi-document.test.ts shows. */
export const openApi = JSON.parse(JSON.stringify(openApiDocument("http://127.0.0.1/functions/v1", "0.0.0"))) as OpenApi;

export function lookUp(pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  return names.reduce<unknown>((at, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return at !== null && typeof at === "object" && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  }, openApi);
}

/** The pointer to what is at `pointer`, followed if that is a reference. */
export function follow(pointer: string): string {
  const found = lookUp(pointer);
  const target = found !== null && typeof found === "object" ? Reflect.get(found, "$ref") : undefined;
  return typeof target === "string" ? follow(target) : pointer;
}

export const pointerTo = (...names: string[]): string =>
  ["#", ...names.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1"))].join("/");

/** One method of one path. */
export type Place = { id: string; method: string; template: string; pointer: string; described: Described };

export const places: Place[] = Object.entries(openApi.paths)
  .flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      template,
      pointer: pointerTo("paths", template, method),
      described,
    })),
  )
  .sort((one, other) => parametersOf(one) - parametersOf(other));

export const findPlace = (method: string, path: string): Place | undefined =>
  places.find((place) => place.method === method && fits(place.template, path));

export const hasPath = (path: string): boolean => places.some(({ template }) => fits(template, path));

function parametersOf({ template }: Place): number {
  return template.split("{").length;
}

const patterns = new Map<string, RegExp>();

function fits(template: string, path: string): boolean {
  const pattern = patterns.get(template) ?? new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
  patterns.set(template, pattern);
  return pattern.test(path);
}
