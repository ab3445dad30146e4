import { useCallback, useRef } from "react";
import { randomKey } from "../../../client/random-key.ts";

/** An Idempotency-Key that stays while the same is asked for: sent again after a lost answer, nothing happens twice. */
export function useRepeatKey() {
  const sent = useRef<{ body: string; key: string } | null>(null);
  const keyFor = useCallback((request: unknown): string => {
    const body = JSON.stringify(request);
    if (sent.current?.body !== body) sent.current = { body, key: randomKey() };
    return sent.current.key;
  }, []);
  /** It was answered: the same asked for once more is meant to happen once more. */
  const forget = useCallback(() => {
    sent.current = null;
  }, []);
  return { keyFor, forget };
}
