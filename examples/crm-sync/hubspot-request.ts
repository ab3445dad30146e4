import { CrmUnavailable } from "./crm.ts";

const DEFAULT_WAIT_SECONDS = 10;

/** What HubSpot answered; `id` of the object, when it is one. */
export type HubSpotAnswer = { ok: boolean; status: number; id: string; says: string };

/** One request. Resolves for 2xx, 400, 404 and 409; throws CrmUnavailable for what a retry may solve, and the signal's reason. */
export type Ask = (method: string, path: string, body: unknown, signal: AbortSignal) => Promise<HubSpotAnswer>;

/** @param baseUrl `https://api.hubapi.com`, without a slash at its end */
export function createAsk(settings: { baseUrl: string; token: string; fetch: typeof fetch }): Ask {
  const { baseUrl, token, fetch } = settings;
  return async (method, path, body, signal) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method, headers, signal, redirect: "manual" as const };
    let response: Response;
    let text: string;
    try {
      response = await fetch(baseUrl + path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
      text = await response.text();
    } catch (error) {
      signal.throwIfAborted();
      throw new CrmUnavailable(`HubSpot cannot be reached: ${String(error)}`);
    }
    const { status, ok } = response;
    const { id, message } = fieldsOf(text);
    const says = typeof message === "string" ? message : text.slice(0, 200);
    const answer = { ok, status, id: String(id ?? ""), says };
    if (ok || status === 400 || status === 404 || status === 409) return answer;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    const wait = Number.isFinite(seconds) ? Math.ceil(seconds) : DEFAULT_WAIT_SECONDS;
    throw status === 429 ? new CrmUnavailable(refusal(answer).message, wait) : refusal(answer);
  };
}

/** An answer that was no success, as an error. A wrong token or a missing property is mended by a person; until then it comes again. */
export function refusal({ status, says }: HubSpotAnswer): CrmUnavailable {
  const todo =
    status === 401 || status === 403
      ? " Look at HUBSPOT_TOKEN and its scopes."
      : status === 400
        ? " Has set-up-hubspot.ts been run?"
        : "";
  return new CrmUnavailable(`HubSpot answered ${status}: ${says}${todo}`);
}

function fieldsOf(text: string): { id?: unknown; message?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}
