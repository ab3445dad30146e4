import type { Lite } from "./create-lite.ts";
import { isExposed } from "./open-pool.ts";
import { PoolExhausted } from "./platform-connection.ts";
import { isDatabaseError, poolExhausted, respondWith, restError, restRefusal } from "./rest/error.ts";
import { chooseFunction, invalidJson, readArguments, respondToCall, statementOf } from "./rest/function-call.ts";
import type { RestCaller } from "./rest/token.ts";

const ROLES: ReadonlySet<string> = new Set(["anon", "authenticated", "service_role"]);

/**
 * Answers below /rest/v1 as PostgREST does. Calls of functions are made here, because lite converts their arguments in JavaScript. lite
 * answers reads and writes of tables, and unusual calls.
 *
 * @param headers those of the request, with credentials for lite
 */
export async function callRest(
  request: Request,
  url: URL,
  headers: Headers,
  caller: RestCaller,
  lite: Lite,
): Promise<Response> {
  const { method } = request;
  if (changesEveryRow(method, url)) {
    await request.body?.cancel();
    return needsFilter(method, caller.role);
  }
  if (!ROLES.has(caller.role)) {
    await request.body?.cancel();
    return await refuseRole(caller.role, lite);
  }
  // A request cannot choose how its transaction ends: db-tx-end is commit.
  const prefer = (headers.get("prefer") ?? "").split(",").filter((one) => !/^\s*tx=/i.test(one));
  if (headers.has("prefer")) headers.set("prefer", prefer.join(","));
  const schema = headers.get(/^(GET|HEAD)$/.test(method) ? "accept-profile" : "content-profile") ?? "public";
  const name = /^\/rest\/v1\/rpc\/(\w+)$/.exec(url.pathname)?.[1];
  const functions = name === undefined ? [] : await lite.functions(schema, name);
  const timeLimit = functions.find((one) => one.timeLimit !== undefined)?.timeLimit;
  const rest = { ...caller, schema: isExposed(schema) ? schema : "public", timeLimit, signal: request.signal };
  if (functions.length === 0 || !isPlainCall(method, url, headers)) {
    return await lite.fetch(new Request(url, { method, headers, body: request.body }), rest);
  }
  const body = await request.text();
  const given = readArguments(body);
  if (given === undefined) return respondWith(invalidJson());
  const called = chooseFunction(functions, given.names);
  if (called === undefined) return await lite.fetch(new Request(url, { method, headers, body }), rest);
  try {
    const about = { method, path: `/rpc/${name}`, requestHeaders: Object.fromEntries(request.headers) };
    return respondToCall(called, await lite.call(statementOf(called, given), given.body, about, rest));
  } catch (error) {
    if (error instanceof PoolExhausted) return respondWith(poolExhausted());
    if (!isDatabaseError(error)) throw error;
    return respondWith(restError(error, caller.role));
  }
}

/** The request of supabase-js for `rpc(name, args)`. */
function isPlainCall(method: string, url: URL, headers: Headers): boolean {
  const type = headers.get("content-type") ?? "application/json";
  const prefer = headers.get("prefer") ?? "";
  return (
    method === "POST" &&
    url.search === "" &&
    /^application\/json\b/i.test(type) &&
    /^(|\*\/\*|application\/json)$/i.test(headers.get("accept") ?? "") &&
    /^[\s,]*$/.test(prefer)
  );
}

/** Refuses a role that the role authenticator may not take. */
async function refuseRole(role: string, lite: Lite): Promise<Response> {
  return respondWith(
    (await lite.hasRole(role))
      ? restRefusal(403, "42501", `permission denied to set role ${JSON.stringify(role)}`)
      : restError({ code: "22023", message: `role ${JSON.stringify(role)} does not exist` }, role),
  );
}

/** Parameters of a REST URL that do not filter rows. */
const NO_FILTER = new Set(["select", "columns", "order", "limit", "offset", "on_conflict"]);

/** Whether a request would change or delete all rows of a table, which the hosted Data API refuses (safeupdate). */
function changesEveryRow(method: string, url: URL): boolean {
  if (method !== "PATCH" && method !== "DELETE") return false;
  return [...url.searchParams.keys()].every((name) => NO_FILTER.has(name));
}

const needsFilter = (method: string, role: string): Response =>
  respondWith(
    restError({ code: "21000", message: `${method === "DELETE" ? "DELETE" : "UPDATE"} requires a WHERE clause` }, role),
  );
