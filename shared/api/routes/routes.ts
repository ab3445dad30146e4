import { STEPS } from "../../contract/fields.ts";
import { KEY_ID } from "../../contract/keys.ts";
import { OPERATIONS, type OperationId } from "../../contract/operations/index.ts";
import { TOKEN } from "../../contract/shares.ts";
import * as elements from "./elements.ts";
import * as films from "./films.ts";
import * as generation from "./generate.ts";
import type { Handler } from "./handler.ts";
import { readHealth } from "./health.ts";
import * as keys from "./keys.ts";
import * as projects from "./projects.ts";
import * as shares from "./shares.ts";
import * as webhooks from "./webhooks.ts";

/** The handler of each operation of the contract. */
export const HANDLERS: { [Id in OperationId]: Handler<Id> } = {
  ...elements,
  ...films,
  ...generation,
  ...keys,
  ...projects,
  ...shares,
  ...webhooks,
  readHealth,
  // Loaded with the first upload, because node:zlib takes an eighth of the function's start.
  uploadReferenceImage: async (...given) => (await import("./reference-images.ts")).uploadReferenceImage(...given),
};

/** One path of the API and its operations by method. */
type Route = {
  /** The path of the contract, with :names; used in the log. */
  at: string;
  /** The path for Hono. */
  pattern: string;
  operations: Partial<Record<string, OperationId>>;
};

const form = (pattern: string, rule: string) => ({ pattern, rule, whole: new RegExp(`^${pattern}$`) });

/** The form of an identifier in a path; anything else is not_found. */
const UUID = form("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "a UUID");

/** The forms of other path parameters. */
const FORMS: Record<string, typeof UUID> = {
  step: form(`(?:${STEPS.join("|")})`, "first-frame, last-frame or video"),
  token: form(TOKEN, "the 43 characters at the end of a film's link"),
  keyId: form(KEY_ID, "the first 19 characters of a key"),
};

const formOf = (name: string) => FORMS[name] ?? UUID;

function listRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const [id, { method, at }] of Object.entries(OPERATIONS)) {
    const pattern = at.replaceAll(/:(\w+)/g, (_, name) => `:${name}{${formOf(name).pattern}}`);
    const route = routes.get(at) ?? { at, pattern, operations: {} };
    // The keys of OPERATIONS are OperationIds, but Object.entries types them as strings.
    route.operations[method] = id as OperationId;
    routes.set(at, route);
  }
  return [...routes.values()];
}

/** All paths of the contract. */
export const ROUTES = listRoutes();

/** The paths with parameters of any form; made at the first 404. */
let loosePaths: RegExp[] | undefined;

/** Why no route has this path (below /api): a parameter has another form, or no path is like it. */
export function explainNotFound(path: string): string {
  loosePaths ??= ROUTES.map(({ at }) => new RegExp(`^${at.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`));
  for (const loose of loosePaths) {
    for (const [name, value] of Object.entries(loose.exec(path)?.groups ?? {})) {
      const { whole, rule } = formOf(name);
      if (!whole.test(value)) return `This path does not exist. Check its spelling: ${name} must be ${rule}.`;
    }
  }
  return "This path does not exist. Check its spelling.";
}
