import type { Change } from "./change.ts";

/** HubSpot did not take it: the event has to come again, after `retryAfter` seconds if HubSpot says so. */
export class HubSpotError extends Error {
  readonly retryAfter: string | null;
  constructor(message: string, retryAfter: string | null = null) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

type Answer = { ok: boolean; status: number; id: string; says: string };
type Ask = (method: string, path: string, body?: unknown, signal?: AbortSignal) => Promise<Answer>;

/** One request. Throws unless HubSpot answers 2xx, or 400, 404, 409, which may mean that an object is missing or there already. */
export const createAsk =
  (baseUrl: string, token: string): Ask =>
  async (method, path, body, signal = AbortSignal.timeout(30_000)) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, signal, redirect: "manual" as const };
    const response = await fetch(baseUrl + path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    const { status, ok } = response;
    const { id = "", message: says = "" } = await response.json().catch(() => ({}));
    const answer = { ok, status, id, says };
    if (ok || status === 400 || status === 404 || status === 409) return answer;
    throw refusal(answer, response.headers.get("retry-after"));
  };

/** A wrong token or a missing property is mended by a person; until then the event comes again. */
export function refusal({ status, says }: Answer, retryAfter: string | null = null): HubSpotError {
  const todo: Record<number, string> = {
    400: " Has set-up-hubspot.ts been run?",
    401: " Look at HUBSPOT_TOKEN.",
    403: " Look at the scopes of HUBSPOT_TOKEN.",
  };
  return new HubSpotError(`HubSpot answered ${status}: ${says}${todo[status] ?? ""}`, retryAfter);
}

/** HubSpot's own number for "deal to contact". */
const DEAL_TO_CONTACT = 3;

/**
 * Sets the event's properties of the project's deal, and creates the deal and its owner's contact where they are missing. Saving again
 * changes nothing. What a person changes in HubSpot stays.
 */
export async function save(
  ask: Ask,
  { ownerId, projectId, properties }: Change,
  { pipeline, dealstage }: { pipeline: string; dealstage: string },
  signal: AbortSignal,
): Promise<void> {
  /** The id of the object with this unique value, which is made when there is none. */
  async function ensure(kind: "contacts" | "deals", key: string, value: string, make: () => Promise<object> | object) {
    const path = `/crm/v3/objects/${kind}/${encodeURIComponent(value)}?idProperty=${key}`;
    const found = await ask("GET", path, undefined, signal);
    if (found.ok) return found.id;
    if (found.status !== 404) throw refusal(found);
    const created = await ask("POST", `/crm/v3/objects/${kind}`, await make(), signal);
    if (created.ok) return created.id;
    // There after all: created by a request whose answer was lost, or by another client just now.
    const again = await ask("GET", path, undefined, signal);
    if (again.ok) return again.id;
    throw refusal(created);
  }
  const contact = { keyframe_owner_id: ownerId, lastname: `Keyframe user ${ownerId.slice(0, 8)}` };
  const deal = await ensure("deals", "keyframe_project_id", projectId, async () => ({
    // The name is a placeholder until project.created brings the title.
    properties: {
      keyframe_project_id: projectId,
      dealname: `Keyframe project ${projectId.slice(0, 8)}`,
      pipeline,
      dealstage,
    },
    associations: [
      {
        to: { id: await ensure("contacts", "keyframe_owner_id", ownerId, () => ({ properties: contact })) },
        types: [{ associationCategory: "HUBSPOT_DEFINED", associationTypeId: DEAL_TO_CONTACT }],
      },
    ],
  }));
  const updated = await ask("PATCH", `/crm/v3/objects/deals/${deal}`, { properties }, signal);
  if (!updated.ok) throw refusal(updated);
}
