import { useQuery } from "@tanstack/react-query";
import { KeyframeError } from "../../../client/index.ts";
import { useServices } from "../app/services-context.ts";
import { readDocument } from "./read-document.ts";

const LIMIT_MS = 15_000;

export const documentAddress = (supabaseUrl: string): string => `${supabaseUrl}/functions/v1/api/openapi.json`;

/** The API's description of itself. Read once, it stays for as long as the page is open, also without a network. */
export function useDocument() {
  const address = documentAddress(useServices().config.supabaseUrl);
  return useQuery({
    queryKey: ["openapi", address],
    queryFn: async ({ signal }) => readDocument(await read(address, signal)),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
}

/** No answer is told as the client tells it, so that it is asked for again, and the page's banner says so. */
async function read(address: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(address, { signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]) }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw new KeyframeError("network", "No answer came.", { cause: String(error) });
    },
  );
  if (response.status >= 500)
    throw new KeyframeError("unavailable", "The service is away.", { status: response.status });
  if (!response.ok) throw new Error(`The service answered ${response.status} instead of its description.`);
  return await response.json().catch(() => null);
}
