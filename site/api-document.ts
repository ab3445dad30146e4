import { ROUTES } from "../client/routes.ts";
import { SAMPLE } from "../shared/contract/samples.ts";

type Texts<Name extends string> = Record<Name, string>;
/** The parts of the service's openapi.json that the pages show, with references resolved. */
export type ApiDocument = Record<"paths" | "webhooks", Record<string, Record<string, Operation>>> & {
  info: Texts<"description">;
  tags: Texts<"name" | "description">[];
  components: { securitySchemes: Record<string, Texts<"description">> };
};
type Content = Record<string, { schema: Schema; example?: unknown }>;
type Operation = Texts<"operationId" | "summary" | "description"> & {
  tags: string[];
  security: object[];
  parameters?: (Texts<"in" | "name"> & { required?: boolean; schema: Schema })[];
  requestBody?: { content: Content };
  responses: Record<string, Texts<"description"> & { headers?: Content; content?: Content }>;
  "x-examples"?: Example[];
};
type Example = { summary: string; path?: Texts<string>; query?: Texts<string>; body?: unknown };
/** `address`: its path, with parameters, below the address of the functions. */
export type Place = { method: string; address: string; operation: Operation };
type Schema = Partial<Record<"minimum" | "maximum" | "minLength" | "maxLength", number>> &
  Partial<Texts<"description" | "format" | "pattern" | "const">> & {
    type?: string | string[];
    enum?: unknown[];
    anyOf?: Schema[];
    items?: Schema;
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties?: Schema | false;
    example?: unknown;
  };
export type Field = [name: string, schema: Schema, note?: string];

/** With each reference replaced by its target. No schema of the document contains itself. */
export function followReferences(document: object, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => followReferences(document, part));
  if (typeof value !== "object" || value === null) return value;
  const { $ref = "", ...others } = value as { $ref?: string }; // an object of a JSON document
  const [, ...names] = $ref.split("/");
  const target = names.length > 0 && names.reduce<unknown>((at, name) => Object(at)[name], document);
  const own = Object.entries(others).map(([name, part]) => [name, followReferences(document, part)]);
  return { ...Object(followReferences(document, target)), ...Object.fromEntries(own) };
}

/** Such as "integer, 1 to 60, or null". */
export function typeOf(schema: Schema): string {
  const { type = "", format, pattern, minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength } = schema;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(", or ");
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  let text = [type].flat().join(" or ");
  if (format !== undefined) return `${text} (${format})`;
  if (maxLength !== undefined) text += `, ${minLength} to ${maxLength} characters`;
  if (minimum > Number.MIN_SAFE_INTEGER && maximum < Number.MAX_SAFE_INTEGER) text += `, ${minimum} to ${maximum}`;
  return pattern === undefined ? text : `${text}, matches ${pattern}`;
}

/** The fields of an object, or of its elements or values. */
export function fieldsOf({ properties, required = [], ...schema }: Schema): Field[] {
  if (properties !== undefined)
    return Object.entries(properties).map(([name, field]) => [name, field, required.includes(name) ? "required" : ""]);
  const parts = [...(schema.anyOf ?? []), schema.items, schema.additionalProperties || undefined];
  return parts.flatMap((part) => (part === undefined ? [] : fieldsOf(part)));
}

/** The answers, each with its data and headers as fields. */
export const answersOf = ({ responses }: Operation): Field[] =>
  Object.entries(responses).map(([status, { description, headers = {}, content = {} }]) => {
    const [{ schema, example } = {}] = Object.values(content);
    const { data } = schema?.properties ?? {};
    const fields = Object.entries(headers).map(([name, header]) => [name, header.schema]);
    return [status, { description, example, properties: { ...(data && { data }), ...Object.fromEntries(fields) } }];
  });

/** A shell command. A word in capitals stands for an id. The credentials are variables of the shell. */
export function commandOf(place: Place, { path = {}, query = {}, body }: Example): string {
  const { method, address, operation } = place;
  const [credentials = {}] = operation.security;
  const [type = ""] = Object.keys(operation.requestBody?.content ?? {});
  const url = `${address.replaceAll(/\{(\w+)\}/g, (_, name) => path[name] ?? "")}?${new URLSearchParams(query)}`;
  const parts = [`curl -X ${method.toUpperCase()} '${url.replace(/\?$/, "")}'`];
  if ("session" in credentials) parts.push('-H "Authorization: Bearer $TOKEN"');
  if ("secretKey" in credentials) parts.push('-H "apikey: $SECRET_KEY"');
  if (operation.parameters?.some(({ name, required }) => name === "Keyframe-User" && required))
    parts.push('-H "Keyframe-User: $USER_ID"');
  if (type.startsWith("image/")) parts.push(`-H 'Content-Type: ${type}'`, "--data-binary @image.png");
  if (body !== undefined) {
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    parts.push("-H 'Content-Type: application/json'", `-d '${json}'`);
  }
  return withWords(parts.join(" \\\n  "));
}

const STEPS: Record<string, string> = { FirstFrame: "first-frame", LastFrame: "last-frame", Video: "video" };
const VERBS: Record<string, string> = { start: "generate", estimate: "estimate", read: "predictions.read" };

/** Methods of the typed client that no rule of `methodOf` names. */
const METHODS: Record<string, string> = {
  ...{ changePrediction: "predictions.setHidden", cancelPrediction: "cancel" },
  ...{ listModels: "models", readUsage: "usage" },
  ...{ startFilm: "films.generate", listShares: "films.shares", revokeShare: "films.revokeShare" },
  ...{ readShared: "films.readShared", revealSecret: "webhooks.secret", rotateSecret: "webhooks.rotate" },
  ...{ listDeliveries: "webhooks.deliveries", readDelivery: "webhooks.readDelivery", redeliver: "webhooks.redeliver" },
};

/** createFilm is films.create, listFilms films.list. */
function methodOf(operationId: string): string {
  const [, verb, noun = ""] = /^([a-z]+)(Project|Prediction|Film|Element|Key|Webhook)s?$/.exec(operationId) ?? [];
  return METHODS[operationId] ?? (verb === undefined ? operationId : `${noun.toLowerCase()}s.${verb}`);
}

/** The same with the typed client; null where it has no method. */
export function callOf(place: Place, { path = {}, query = {}, body }: Example): string | null {
  const { operationId } = place.operation;
  if (!Object.hasOwn(ROUTES, operationId)) return null;
  const [, verb = "", stepName = ""] = /^(start|estimate|read)(FirstFrame|LastFrame|Video)$/.exec(operationId) ?? [];
  const step = STEPS[stepName];
  const asked = Object.fromEntries(
    Object.entries(query).map(([name, text]) => [name, /^\d+$/.test(text) ? Number(text) : text]),
  );
  const input = body ?? (Object.keys(query).length > 0 ? asked : undefined);
  const isEnd = Object.hasOwn(Object(body), "endImagePath"); // of changePrediction, which the client has as two methods
  const method = isEnd ? "predictions.storeEndImage" : (VERBS[verb] ?? methodOf(operationId));
  const given =
    verb === "read"
      ? [{ step, ...asked }]
      : "predictionId" in path
        ? [path, ...Object.values(Object(body))]
        : [...(step === undefined ? Object.values(path) : [step]), input];
  const texts = given.filter((one) => one !== undefined).map((one) => JSON.stringify(one, null, 2));
  if (operationId === "uploadReferenceImage") texts.push("image");
  const call = `await keyframe.${method}(${texts.join(", ").replaceAll(/"(\w+)":/g, "$1:")});`;
  return withWords(call);
}

/** With PROJECT_ID in place of the sample projectId. */
const withWords = (text: string): string =>
  Object.entries(SAMPLE).reduce((words, [name, sample]) => words.replaceAll(sample, wordOf(name)), text);

export const wordOf = (name: string): string => name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
