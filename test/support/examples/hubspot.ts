import { z } from "zod";
import { serveHttp } from "../../../local/simulator/serve-http.ts";

type Kind = "contacts" | "deals";
export type HubSpotRequest = { method: string; path: string; body: string };

/** Instead of the ordinary answer: a refusal, nothing being done; or the work is done and its answer is lost. */
type Whim = { refuse: number; headers?: Record<string, string> } | "lose the answer" | undefined;

type HubSpotObject = { id: string; properties: Record<string, string>; contacts: string[] };

export const HUBSPOT_TOKEN = "pat-eu1-of-a-test";
const OWN = {
  contacts: ["email", "firstname", "lastname"],
  deals: ["dealname", "dealstage", "pipeline", "description"],
};

/**
 * Answers as HubSpot's CRM API does, as far as an upsert meets it: objects found by a unique property, 404, unknown properties
 * refused, a second object of a unique value refused. `behave` makes it fail, request by request.
 */
export async function startHubSpot() {
  const objects: Record<Kind, HubSpotObject[]> = { contacts: [], deals: [] };
  const properties: Record<Kind, Map<string, { isUnique: boolean }>> = { contacts: new Map(), deals: new Map() };
  for (const kind of ["contacts", "deals"] as const)
    for (const name of OWN[kind]) properties[kind].set(name, { isUnique: false });
  const requests: HubSpotRequest[] = [];
  let conflictStatus: 400 | 409 = 409;
  let whim: (request: HubSpotRequest) => Whim | Promise<Whim> = () => undefined;
  let lastId = 100;

  const refuse = (status: number, message: string, category = "VALIDATION_ERROR", headers = {}) =>
    Response.json({ status: "error", message, correlationId: crypto.randomUUID(), category }, { status, headers });
  const isUnique = (kind: Kind, name: string) => properties[kind].get(name)?.isUnique === true;

  function create(kind: Kind, given: Record<string, string>, associations: { to: { id: string } }[]): Response {
    if (kind === "contacts" && !OWN.contacts.some((name) => given[name])) return refuse(400, "A contact needs a name");
    if (kind === "deals" && !given.dealstage) return refuse(400, "A deal needs a stage");
    const taken = Object.entries(given).find(
      ([name, value]) => isUnique(kind, name) && objects[kind].some((one) => one.properties[name] === value),
    );
    if (taken) return refuse(conflictStatus, `${taken[1]} already has that value.`, "CONFLICT");
    const contacts = associations.map(({ to }) => to.id);
    if (contacts.some((id) => !objects.contacts.some((one) => one.id === id))) return refuse(400, "No such contact");
    const made = { id: String(++lastId), properties: { ...given }, contacts };
    objects[kind].push(made);
    return Response.json(made, { status: 201 });
  }

  function answer(request: HubSpotRequest, token: string | null): Response {
    if (token !== `Bearer ${HUBSPOT_TOKEN}`) return refuse(401, "Authentication credentials not found.", "INVALID");
    const url = new URL(request.path, "http://hubspot.test");
    const [, what, kind, key] =
      /^\/crm\/v3\/(objects|properties)\/(contacts|deals)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (kind !== "contacts" && kind !== "deals") return refuse(404, "No such path");
    const body = readBody(request.body);
    if (what === "properties") {
      const { name = "", hasUniqueValue } = body;
      if (properties[kind].has(name))
        return refuse(409, `A property named '${name}' already exists.`, "OBJECT_ALREADY_EXISTS");
      properties[kind].set(name, { isUnique: hasUniqueValue === true });
      return Response.json(body, { status: 201 });
    }
    const { properties: given = {}, associations = [] } = body;
    const wrong = Object.keys(given).find((name) => !properties[kind].has(name));
    if (wrong !== undefined) return refuse(400, `Property "${wrong}" does not exist`);
    if (key === undefined) return create(kind, given, associations);
    const idProperty = url.searchParams.get("idProperty");
    if (idProperty !== null && !isUnique(kind, idProperty))
      return refuse(400, `${idProperty} is not a unique property`);
    const wanted = decodeURIComponent(key);
    const found = objects[kind].find((one) => (idProperty === null ? one.id : one.properties[idProperty]) === wanted);
    if (!found) return refuse(404, "resource not found", "OBJECT_NOT_FOUND");
    if (request.method === "PATCH") Object.assign(found.properties, given);
    return Response.json(found);
  }

  const server = await serveHttp(async (incoming, connection) => {
    const { pathname, search } = new URL(incoming.url);
    const request = { method: incoming.method, path: pathname + search, body: await incoming.text() };
    requests.push(request);
    const mood = await whim(request);
    if (typeof mood === "object") return refuse(mood.refuse, "not now", "RATE_LIMITS", mood.headers);
    const done = answer(request, incoming.headers.get("authorization"));
    if (mood === "lose the answer") connection.drop();
    return done;
  }, 0);

  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
    /** Every request, oldest first. */
    requests: requests as readonly HubSpotRequest[],
    /** Every further request is answered so, perhaps later. */
    behave(next: typeof whim) {
      whim = next;
    },
    /** Removes all objects and requests, and answers in the ordinary way; a second object of a unique value gets this status. */
    clear(conflict: 400 | 409 = 409) {
      for (const list of [objects.contacts, objects.deals, requests]) list.length = 0;
      conflictStatus = conflict;
      whim = () => undefined;
    },
    /** Somebody else makes an object. */
    add: (kind: Kind, given: Record<string, string>) => create(kind, given, []),
    stop: server.stop,
  };
}

const body = z.object({
  name: z.string().optional(),
  hasUniqueValue: z.boolean().optional(),
  properties: z.record(z.string(), z.string()).optional(),
  associations: z.array(z.object({ to: z.object({ id: z.string() }) })).optional(),
});
const readBody = (text: string) => body.parse(text === "" ? {} : JSON.parse(text));

export type FakeHubSpot = Awaited<ReturnType<typeof startHubSpot>>;
