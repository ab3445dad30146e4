import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import type { Envelope } from "../../../shared/http/errors.ts";

/** The credentials of a call, and how long it may be held. */
export type From = { authorization: string; requestId: string; signal: AbortSignal; headers?: Record<string, string> };
export type Outcome = Envelope<unknown> & { retryAfter: string | null };

/** Calls an operation with arguments that were checked, as the caller. */
export type CallOperation = (id: OperationId, args: Record<string, unknown>, from: From) => Promise<Outcome>;

/** Calls the API in this process, which verifies the token, validates the arguments and answers as it answers an app. */
export function createCallOperation(api: (request: Request) => Response | Promise<Response>): CallOperation {
  return async (id, args, { authorization, requestId, signal, headers: others }) => {
    const operation: Operation = OPERATIONS[id];
    const { path, query, body, method } = operation;
    const isQuery = (name: string) => name in (query?.shape ?? {});
    const rest = Object.entries(args).filter(([name, value]) => !(name in (path?.shape ?? {})) && value !== undefined);
    const parameters = rest.filter(([name]) => isQuery(name)).map(([name, value]) => [name, asText(value)]);
    const sent = Object.fromEntries(rest.filter(([name]) => !isQuery(name)));
    const at = operation.at.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(args[name])));
    const headers = { ...others, authorization, "x-request-id": requestId, "content-type": "application/json" };
    const url = `http://api/api${at}?${new URLSearchParams(parameters)}`;
    const content = body === undefined ? null : JSON.stringify(sent);
    const response = await api(new Request(url, { method, signal, headers, body: content }));
    const envelope: Envelope<unknown> = await response.json(); // every answer of the API is one
    return { ...envelope, retryAfter: response.headers.get("retry-after") };
  };
}

/** As a query has it. */
export const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
