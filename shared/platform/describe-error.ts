import { providerSentence } from "../replicate/provider-sentence.ts";

/** An error as a log line may have it: what it says and what caused it, without addresses, for they may carry tokens. */
export function describeError(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `, because of ${String(error.cause)}` : "";
  return providerSentence(String(error) + cause);
}
