import { z } from "zod";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { type ApiError, type Envelope, failed } from "../../../shared/http/errors.ts";
import { invalidRequest, issueSentence } from "../../../shared/api/errors.ts";

/** What a call came with, and how long it may be held. */
export type From = { authorization: string; requestId: string; signal: AbortSignal; prefer?: string };
export type Outcome = Envelope<unknown> & { retryAfter: string | null };

/** Calls an operation with the arguments of a tool, as the caller. */
export type CallOperation = (id: OperationId, args: Record<string, unknown>, from: From) => Promise<Outcome>;

/** Asks the API in this process: it verifies the token, validates the arguments and answers a tool as it answers an app. */
export function createCallOperation(api: (request: Request) => Response | Promise<Response>): CallOperation {
  return async (id, args, { authorization, requestId, signal, prefer }) => {
    const operation: Operation = OPERATIONS[id];
    const { path = z.object({}), query, body, method } = operation;
    const named = path.safeParse(Object.fromEntries(Object.keys(path.shape).map((name) => [name, args[name]])), {
      error: issueSentence,
    });
    if (!named.success) return refused(invalidRequest(named.error), requestId);
    const isQuery = (name: string) => name in (query?.shape ?? {});
    const rest = Object.entries(args).filter(([name, value]) => !(name in path.shape) && value !== undefined);
    const asked = rest.filter(([name]) => isQuery(name)).map(([name, value]) => [name, asText(value)]);
    const sent = Object.fromEntries(rest.filter(([name]) => !isQuery(name)));
    const at = operation.at.replaceAll(/:(\w+)/g, (_, name: string) => String(named.data[name]));
    const headers = { authorization, "x-request-id": requestId, ...(prefer === undefined ? {} : { prefer }) };
    const url = `http://api/api${at}?${new URLSearchParams(asked)}`;
    const response = await api(
      body === undefined
        ? new Request(url, { method, headers, signal })
        : new Request(url, {
            ...{ method, signal, body: JSON.stringify(sent) },
            headers: { ...headers, "content-type": "application/json" },
          }),
    );
    const envelope: Envelope<unknown> = await response.json(); // every answer of the API is one
    return { ...envelope, retryAfter: response.headers.get("retry-after") };
  };
}

const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** A refusal before the API is asked. */
export const refused = ({ code, message, extra: { details } }: ApiError, requestId: string): Outcome => ({
  ...failed({ code, message, ...(details ? { details } : {}), requestId }),
  retryAfter: null,
});
