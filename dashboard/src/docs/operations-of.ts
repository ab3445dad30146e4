import type { ApiDocument, Example, Parameter, PathItem, PathOperation, Response, Schema } from "./open-api.ts";
import { resolve } from "./resolve.ts";

/** One thing that can be called or, for an event, that calls your server. */
export type ApiOperation = {
  id: string;
  tag: string;
  /** In capitals; `EVENT` for what Keyframe sends. */
  method: string;
  /** Below the address of the functions; of an event its type. */
  path: string;
  isEvent: boolean;
  summary: string;
  description: string;
  /** The names of the schemes of which one is needed; none: it is open to all. */
  callers: string[];
  parameters: Parameter[];
  bodyRequired: boolean;
  /** By content type. */
  bodies: [type: string, schema: Schema][];
  responses: [status: string, response: Response][];
  examples: Example[];
};

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Everything that the document describes, in its own order; the events last. */
export function operationsOf(document: ApiDocument): ApiOperation[] {
  const list = (items: Record<string, PathItem> | undefined, isEvent: boolean) =>
    Object.entries(items ?? {}).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => METHODS.includes(method))
        .map(([method, operation]) => describe(document, path, method, operation, isEvent)),
    );
  return [...list(document.paths, false), ...list(document.webhooks, true)];
}

/** The tags in the document's order, each with its operations; a tag without any is left out. */
export function byTag(document: ApiDocument, operations: ApiOperation[]): [tag: string, operations: ApiOperation[]][] {
  const tags = new Set([...(document.tags ?? []).map(({ name }) => name), ...operations.map(({ tag }) => tag)]);
  return [...tags]
    .map((tag): [string, ApiOperation[]] => [tag, operations.filter((operation) => operation.tag === tag)])
    .filter(([, found]) => found.length > 0);
}

function describe(document: ApiDocument, path: string, method: string, given: PathOperation, isEvent: boolean) {
  const { operationId, tags, summary, description, security, parameters, requestBody, responses } = given;
  return {
    id: operationId ?? `${method}-${path}`,
    tag: tags?.[0] ?? "Others",
    method: isEvent ? "EVENT" : method.toUpperCase(),
    path,
    isEvent,
    summary: summary ?? "",
    description: description ?? "",
    // An empty one among them: also without any.
    callers: security?.some((scheme) => Object.keys(scheme).length === 0)
      ? []
      : (security ?? []).flatMap((scheme) => Object.keys(scheme)),
    parameters: resolveAll(document, parameters ?? []),
    bodyRequired: requestBody?.required ?? false,
    bodies: Object.entries(requestBody?.content ?? {}).map(([type, { schema }]): [string, Schema] => [
      type,
      schema ?? {},
    ]),
    responses: Object.entries(responses ?? {}).flatMap(([status, response]): [string, Response][] => {
      const found = resolve<Response>(document, response);
      return found === undefined ? [] : [[status, found]];
    }),
    examples: given["x-examples"] ?? [],
  } satisfies ApiOperation;
}

const resolveAll = (document: ApiDocument, parameters: (Parameter | { $ref: string })[]): Parameter[] =>
  parameters.flatMap((parameter) => resolve<Parameter>(document, parameter) ?? []);
