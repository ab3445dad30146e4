import { type MutationKey, useMutation } from "@tanstack/react-query";
import { useId } from "react";
import type { KeyframeClient } from "../../../client/index.ts";
import { randomKey } from "../../../client/idempotency-key.ts";
import { type Once, useServices } from "../services.ts";
import { useUserId } from "../session/use-session.ts";
import { isRefused } from "../ui/errors.ts";
import { usePlanClient } from "./plan-edits.ts";

/**
 * A request that creates or sends something. It keeps its Idempotency-Key until it is answered, so that a retry after a lost answer repeats
 * nothing. `variables` must contain everything that may change.
 */
export function useOnce<Variables, Answer>(
  send: (keyframe: KeyframeClient, variables: Variables, once: Once) => Promise<Answer>,
  onDone: (answer: Answer) => unknown = () => undefined,
  mutationKey: MutationKey = [],
) {
  const keyframe = usePlanClient();
  const { unanswered } = useServices();
  const userId = useUserId();
  const id = useId();
  const name = `${userId} ${String(mutationKey) || id}`;
  return useMutation({
    mutationKey,
    mutationFn: (variables: Variables) => {
      const body = JSON.stringify(variables ?? null);
      const before = unanswered.get(name);
      const once = before?.body === body ? before.once : { idempotencyKey: randomKey() };
      unanswered.set(name, { body, once });
      return send(keyframe, variables, once);
    },
    gcTime: 0, // a secret in the answer is dropped when it is no longer shown
    onSuccess: (answer) => {
      unanswered.delete(name);
      onDone(answer);
    },
    onError: (error) => {
      if (isRefused(error)) unanswered.delete(name);
    },
  });
}
